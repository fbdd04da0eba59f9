"""Runs of a sweep into an S3 store of this machine, over a network that cuts connections.

Run by `store.sh`, with the path of the program. Prints what it sees; any difference ends it with an exception.
"""

import logging
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import boto3
from moto.server import ThreadedMotoServer

SPEC = """
name = "into a store"
seed = 5
references = false
rounds = 20000
trials = 24
block = 2
[environment]
kind = "rkhs"
bound = 2.0
domain = { kind = "grid", points = 100 }
kernel = { kind = "matern", nu = 2.5, lengthscale = 0.2 }
noise = { kind = "uniform", bound = 0.5 }
[privacy]
mechanism = "laplace"
[[policy]]
kind = "tgp-ucb"
[[policy]]
kind = "igp-ucb"
[sweep.product]
"privacy.epsilon" = [0.5, 1.0, 2.0]
"""
AUDIT = """
[audit]
samples = 200
"""
SECRET = "a-secret-that-is-written-nowhere"


class Network:
    """Forwards connections to a port; cuts some in the middle of a request, or before its answer."""

    def __init__(self, port: int, seed: int) -> None:
        self.port, self.random = port, random.Random(seed)
        self.share_cut, self.half_requests, self.lost_answers = 0.0, 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.listen, daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def listen(self) -> None:
        while True:
            near, _ = self.listener.accept()
            threading.Thread(target=self.forward, args=(near,), daemon=True).start()

    def forward(self, near: socket.socket) -> None:
        far = socket.create_connection(("127.0.0.1", self.port))
        cut = self.random.random() < self.share_cut
        # A part has some 10 kB: the first cut falls into a put, the second between a put and its answer.
        half = cut and self.random.random() < 0.5
        budget = self.random.randrange(500, 6000) if half else 1 << 60
        if half:
            self.half_requests += 1
        elif cut:
            self.lost_answers += 1

        def answers() -> None:
            try:
                while data := far.recv(65536):
                    if cut and not half:
                        break
                    near.sendall(data)
            except OSError:
                pass
            close()

        def close() -> None:
            for end in (near, far):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

        threading.Thread(target=answers, daemon=True).start()
        try:
            while data := near.recv(4096):
                far.sendall(data[:budget])
                budget -= len(data)
                if budget <= 0:
                    break
        except OSError:
            pass
        if half:
            close()


def main(program: str) -> None:
    scratch = Path(tempfile.mkdtemp(prefix="privateer-store-"))
    (scratch / "spec.toml").write_text(SPEC)
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    port = server.get_host_and_port()[1]
    seed = int(os.environ.get("SEED", random.SystemRandom().randrange(1000)))
    network = Network(port, seed)
    # Looks at the store without the network between.
    client = boto3.client(
        "s3",
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key=SECRET,
    )
    client.create_bucket(Bucket="study")
    environment = dict(
        os.environ,
        AWS_ENDPOINT_URL=network.address,
        AWS_ALLOW_HTTP="true",
        AWS_REGION="us-east-1",
        AWS_ACCESS_KEY_ID="test",
        AWS_SECRET_ACCESS_KEY=SECRET,
        TMPDIR=str(scratch / "tmp"),
    )
    (scratch / "tmp").mkdir()

    def start(*words: str) -> subprocess.Popen:
        return subprocess.Popen([program, *words], cwd=scratch, env=environment, text=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(*words: str, code: int = 0) -> str:
        process = start(*words)
        out, err = process.communicate(timeout=120)
        assert process.returncode == code, f"{words}: {process.returncode}\n{out}{err}"
        assert SECRET not in out + err
        return out + err

    def names() -> "list[str]":
        return [found["Key"] for found in client.list_objects_v2(Bucket="study").get("Contents", [])]

    def stored() -> "dict[str, bytes]":
        return {name: client.get_object(Bucket="study", Key=name)["Body"].read() for name in names()}

    def parts(folder: Path) -> "dict[str, bytes]":
        return {path.name: path.read_bytes() for path in (folder / "cells").iterdir()}

    run("run", "spec.toml", "--out", "alone", "--quiet")
    alone = parts(scratch / "alone")

    print("== two shards into one prefix; one is killed, and connections are cut", flush=True)
    network.share_cut = 0.3
    def shard(number: int) -> subprocess.Popen:
        return start("run", "spec.toml", "--out", "s3://study/a", "--shard", f"{number}/2", "--threads", "1")

    shards = [shard(1)]
    while not any("cells/" in name for name in names()):
        time.sleep(0.02)
    shards.append(shard(2))
    shards[0].send_signal(signal.SIGKILL)
    shards[0].communicate()
    out, err = shards[1].communicate(timeout=120)
    assert shards[1].returncode == 0, out + err
    print(run("status", "s3://study/a").splitlines()[0])
    again = run("run", "spec.toml", "--out", "s3://study/a", "--shard", "1/2")
    print(next(line for line in again.splitlines() if line.startswith("resuming")))
    run("merge", "s3://study/a", "--out", "all", "--quiet")
    assert parts(scratch / "all") == alone
    assert (scratch / "all/report.html").stat().st_size
    print(f"connections cut: {network.half_requests} in a request, {network.lost_answers} before an answer (seed {seed})")
    assert network.half_requests and network.lost_answers
    network.share_cut = 0.0

    print("== a shard run twice adds nothing; a whole run puts a report beside the parts", flush=True)
    before = stored()
    run("run", "spec.toml", "--out", "s3://study/a", "--shard", "2/2", "--quiet")
    assert stored() == before
    assert run("status", "s3://study/a") == "72 of 72 units are done\n"
    run("run", "spec.toml", "--out", "s3://study/a", "--quiet")
    assert "a/report.html" in names()

    print("== a part that is lost is computed again; runs that count the same do not collide", flush=True)
    (scratch / "uniform.toml").write_text(SPEC.replace("igp-ucb", "uniform").replace("tgp-ucb", "uniform\"\nlabel = \"other") + AUDIT)
    for _ in range(3):
        run("run", "uniform.toml", "--rounds", "200", "--out", "s3://study/c", "--quiet")
        lost = next(name for name in names() if name.startswith("c/cells/"))
        client.delete_object(Bucket="study", Key=lost)
    run("run", "uniform.toml", "--rounds", "200", "--out", "s3://study/c", "--quiet")
    assert "c/audit.json" in names()
    assert "privateer merge" in run("report", "s3://study/c", code=2)

    print("== refused: another spec, a part with other bytes, an absent bucket", flush=True)
    print(run("run", "spec.toml", "--out", "s3://study/a", "--seed", "6", code=2).strip())
    name = next(name for name in names() if "cells/" in name)
    client.put_object(Bucket="study", Key=name, Body=b"altered")
    print(run("merge", "s3://study/a", "--out", "mixed", code=2).strip())
    run("run", "spec.toml", "--out", "s3://absent/a", code=2)

    print("== a store that is gone: the run is stopped by hand, and ends when the store is back", flush=True)
    network.share_cut = 1.0
    gone = start("run", "spec.toml", "--out", "s3://study/b", "--quiet")
    time.sleep(1)
    gone.send_signal(signal.SIGINT)
    out, err = gone.communicate(timeout=30)
    assert gone.returncode == 4, out + err
    network.share_cut = 0.0
    run("run", "spec.toml", "--out", "s3://study/b", "--quiet")
    run("merge", "s3://study/b", "--out", "second", "--quiet")
    assert parts(scratch / "second") == alone

    everything = b"".join(stored().values())
    assert SECRET.encode() not in everything
    for path in scratch.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path
    server.stop()
    shutil.rmtree(scratch)
    print("all holds")


if __name__ == "__main__":
    main(sys.argv[1])
