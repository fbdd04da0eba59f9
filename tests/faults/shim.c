// Makes the N-th file operation of a process fail, for databases, whose operations are SQLite's and not the program's own:
// SHIM_FAULT=KIND@N, with the kinds of crates/results/src/record/fault.rs; SHIM_LOG=FILE lists the operations. Loaded by LD_PRELOAD.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static int count;

// Returns 0 to go on, an error number to refuse, or -1 to end after half of a write.
static int announce(const char *what, int is_write) {
  int number = __atomic_add_fetch(&count, 1, __ATOMIC_SEQ_CST);
  const char *log = getenv("SHIM_LOG"), *fault = getenv("SHIM_FAULT");
  if (log) {
    char line[80];
    int n = snprintf(line, sizeof line, "%d %s\n", number, what);
    int fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    syscall(SYS_write, fd, line, n);
    syscall(SYS_close, fd);
  }
  const char *at = fault ? strchr(fault, '@') : NULL;
  if (!at || atoi(at + 1) != number) return 0;
  if (!strncmp(fault, "torn", 4) && is_write) return -1;
  if (!strncmp(fault, "kill", 4) || !strncmp(fault, "torn", 4)) raise(SIGKILL);
  if (!strncmp(fault, "EIO", 3)) return EIO;
  if (!strncmp(fault, "EMFILE", 6)) return EMFILE;
  return ENOSPC;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define REFUSE(what) do { int why = announce(what, 0); if (why) { errno = why; return -1; } } while (0)

static int opened(const char *name, const char *path, int flags, mode_t mode) {
  int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, name);
  if (flags & O_CREAT) REFUSE("Create");
  return real(path, flags, mode);
}
#define MODE(flags) mode_t mode = 0; if ((flags) & O_CREAT) { va_list more; va_start(more, flags); mode = va_arg(more, int); va_end(more); }
int open(const char *path, int flags, ...) { MODE(flags) return opened("open", path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return opened("open64", path, flags, mode); }

// A refused write leaves half of its bytes.
#define WRITE(what, call)                         \
  if (fd <= 2) return call(n);                    \
  int why = announce(what, 1);                    \
  if (!why) return call(n);                       \
  ssize_t half = call(n / 2);                     \
  (void)half;                                     \
  if (why < 0) raise(SIGKILL);                    \
  errno = why;                                    \
  return -1;
ssize_t write(int fd, const void *from, size_t n) {
#define WHOLE(size) REAL(write)(fd, from, size)
  WRITE("Write ", WHOLE)
#undef WHOLE
}
ssize_t pwrite(int fd, const void *from, size_t n, off_t at) {
#define WHOLE(size) REAL(pwrite)(fd, from, size, at)
  WRITE("Write ", WHOLE)
#undef WHOLE
}
ssize_t pwrite64(int fd, const void *from, size_t n, off64_t at) {
#define WHOLE(size) REAL(pwrite64)(fd, from, size, at)
  WRITE("Write ", WHOLE)
#undef WHOLE
}
int fsync(int fd) { REFUSE("Sync"); return REAL(fsync)(fd); }
int fdatasync(int fd) { REFUSE("Sync"); return REAL(fdatasync)(fd); }
int ftruncate(int fd, off_t length) { REFUSE("Truncate"); return REAL(ftruncate)(fd, length); }
int ftruncate64(int fd, off64_t length) { REFUSE("Truncate"); return REAL(ftruncate64)(fd, length); }
int unlink(const char *path) { REFUSE("Remove"); return REAL(unlink)(path); }
