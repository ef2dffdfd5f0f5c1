// Faults for a process that does not know of them: preloaded (LD_PRELOAD), it stands between a program and the C library and makes
// chosen calls on chosen files fail, and steps the wall clock. What is on is said by a small file that PARLEY_FAULTS names; the process
// maps it, so that whoever writes to it turns faults on and off while the process runs. `../control.ts` has the other half of its layout.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { OPEN = 1, CREATE = 2, WRITE = 4, READ = 8, SYNC = 16, TRUNCATE = 32, RENAME = 64, UNLINK = 128, MKDIR = 256, TORN = 512 };
enum { RULES = 16, PATTERN = 104 };

struct rule {
  _Atomic uint32_t on;
  uint32_t operations;
  int32_t error;
  _Atomic int32_t left; /* how many calls still fail; below zero: all of them */
  _Atomic uint32_t hits;
  uint32_t spare;
  char pattern[PATTERN];
};

struct control {
  char magic[8];
  _Atomic int64_t clock; /* nanoseconds that the wall clock is ahead */
  char spare[48];
  struct rule rules[RULES];
};

static struct control *control;

__attribute__((constructor)) static void map_control(void) {
  const char *file = getenv("PARLEY_FAULTS");
  if (file != NULL) {
    int fd = (int)syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC, 0);
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0) syscall(SYS_close, fd);
    if (at == MAP_FAILED || memcmp(((struct control *)at)->magic, "PLFAULT1", 8) != 0) {
      fprintf(stderr, "the faults of %s cannot be had\n", file);
      _exit(71);
    }
    control = at;
  }
  /* Programs that this one starts are as they always are, unless they are meant too. */
  if (getenv("PARLEY_FAULTS_CHILDREN") == NULL) {
    unsetenv("LD_PRELOAD");
    unsetenv("PARLEY_FAULTS");
  }
}

/* Every piece between stars stands in the path, in this order; a pattern that ends with $ is about the path's end. */
static int fits(const char *path, const char *pattern) {
  while (*pattern != 0) {
    const char *star = strchrnul(pattern, '*');
    size_t length = (size_t)(star - pattern);
    if (length > 0 && *star == 0 && pattern[length - 1] == '$') {
      size_t all = strlen(path);
      return all >= length - 1 && memcmp(path + all - (length - 1), pattern, length - 1) == 0;
    }
    if (length > 0) {
      const char *found = memmem(path, strlen(path), pattern, length);
      if (found == NULL) return 0;
      path = found + length;
    }
    pattern = *star == 0 ? star : star + 1;
  }
  return 1;
}

/* The path that a call is about: that of the open file, or one below an open folder, or as it is. */
static const char *whole(const char *path, int fd, char *name, size_t size) {
  if (path != NULL && (path[0] == '/' || fd < 0)) return path;
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, name, size - 1);
  if (length < 0) return NULL;
  name[length] = 0;
  if (path != NULL) snprintf(name + length, size - (size_t)length, "/%s", path);
  return name;
}

/* The error that this call is to have, or 0; `torn`: half of what is to be written is written first. */
static int fault(uint32_t operation, const char *path, int fd, int *torn) {
  if (control == NULL) return 0;
  char name[4096];
  const char *about = NULL;
  for (int index = 0; index < RULES; index++) {
    struct rule *rule = &control->rules[index];
    if (!atomic_load(&rule->on) || (rule->operations & operation) == 0) continue;
    if (about == NULL && (about = whole(path, fd, name, sizeof name)) == NULL) return 0;
    if (!fits(about, rule->pattern)) continue;
    int32_t left = atomic_load(&rule->left);
    while (left > 0 && !atomic_compare_exchange_weak(&rule->left, &left, left - 1)) continue;
    if (left == 0) continue;
    atomic_fetch_add(&rule->hits, 1);
    if (torn != NULL) *torn = (rule->operations & TORN) != 0;
    return rule->error;
  }
  return 0;
}

#define REAL(result, name, ...) \
  static result (*real)(__VA_ARGS__); \
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, name)

#define FAIL_IF(operation, path, fd) \
  do { \
    int error = fault(operation, path, fd, NULL); \
    if (error != 0) { \
      errno = error; \
      return -1; \
    } \
  } while (0)

static uint32_t opening(int flags) {
  if (flags & O_CREAT) return CREATE;
  return OPEN | ((flags & O_ACCMODE) == O_RDONLY ? 0 : CREATE);
}

#define MODE(flags, last) \
  mode_t mode = 0; \
  if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list list; \
    va_start(list, last); \
    mode = va_arg(list, mode_t); \
    va_end(list); \
  }

#define OPENER(name) \
  int name(const char *path, int flags, ...) { \
    MODE(flags, flags) \
    FAIL_IF(opening(flags), path, -1); \
    REAL(int, #name, const char *, int, ...); \
    return real(path, flags, mode); \
  }
OPENER(open)
OPENER(open64)

#define OPENER_AT(name) \
  int name(int at, const char *path, int flags, ...) { \
    MODE(flags, flags) \
    FAIL_IF(opening(flags), path, at); \
    REAL(int, #name, int, const char *, int, ...); \
    return real(at, path, flags, mode); \
  }
OPENER_AT(openat)
OPENER_AT(openat64)

ssize_t write(int fd, const void *bytes, size_t count) {
  REAL(ssize_t, "write", int, const void *, size_t);
  int torn = 0, error = fault(WRITE, NULL, fd, &torn);
  if (error == 0) return real(fd, bytes, count);
  if (torn && count > 1) real(fd, bytes, count / 2);
  errno = error;
  return -1;
}

#define PWRITER(name, offset) \
  ssize_t name(int fd, const void *bytes, size_t count, offset at) { \
    REAL(ssize_t, #name, int, const void *, size_t, offset); \
    int torn = 0, error = fault(WRITE, NULL, fd, &torn); \
    if (error == 0) return real(fd, bytes, count, at); \
    if (torn && count > 1) real(fd, bytes, count / 2, at); \
    errno = error; \
    return -1; \
  }
PWRITER(pwrite, off_t)
PWRITER(pwrite64, off64_t)

#define OF_FD(operation, result, name, parameters, arguments, ...) \
  result name parameters { \
    FAIL_IF(operation, NULL, fd); \
    REAL(result, #name, __VA_ARGS__); \
    return real arguments; \
  }
OF_FD(WRITE, ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count), int, const struct iovec *, int)
OF_FD(WRITE, ssize_t, pwritev, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at), int, const struct iovec *, int, off_t)
OF_FD(WRITE, ssize_t, pwritev64, (int fd, const struct iovec *parts, int count, off64_t at), (fd, parts, count, at), int, const struct iovec *, int, off64_t)
OF_FD(READ, ssize_t, read, (int fd, void *bytes, size_t count), (fd, bytes, count), int, void *, size_t)
OF_FD(READ, ssize_t, pread, (int fd, void *bytes, size_t count, off_t at), (fd, bytes, count, at), int, void *, size_t, off_t)
OF_FD(READ, ssize_t, pread64, (int fd, void *bytes, size_t count, off64_t at), (fd, bytes, count, at), int, void *, size_t, off64_t)
OF_FD(READ, ssize_t, readv, (int fd, const struct iovec *parts, int count), (fd, parts, count), int, const struct iovec *, int)
OF_FD(READ, ssize_t, preadv, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at), int, const struct iovec *, int, off_t)
OF_FD(READ, ssize_t, preadv64, (int fd, const struct iovec *parts, int count, off64_t at), (fd, parts, count, at), int, const struct iovec *, int, off64_t)
OF_FD(SYNC, int, fsync, (int fd), (fd), int)
OF_FD(SYNC, int, fdatasync, (int fd), (fd), int)
OF_FD(TRUNCATE, int, ftruncate, (int fd, off_t length), (fd, length), int, off_t)
OF_FD(TRUNCATE, int, ftruncate64, (int fd, off64_t length), (fd, length), int, off64_t)

#define OF_PATH(operation, name, parameters, arguments, path, at, ...) \
  int name parameters { \
    FAIL_IF(operation, path, at); \
    REAL(int, #name, __VA_ARGS__); \
    return real arguments; \
  }
OF_PATH(RENAME, rename, (const char *from, const char *to), (from, to), to, -1, const char *, const char *)
OF_PATH(RENAME, link, (const char *from, const char *to), (from, to), to, -1, const char *, const char *)
OF_PATH(UNLINK, unlink, (const char *path), (path), path, -1, const char *)
OF_PATH(UNLINK, remove, (const char *path), (path), path, -1, const char *)
OF_PATH(UNLINK, rmdir, (const char *path), (path), path, -1, const char *)
OF_PATH(UNLINK, unlinkat, (int at, const char *path, int flags), (at, path, flags), path, at, int, const char *, int)
OF_PATH(MKDIR, mkdir, (const char *path, mode_t mode), (path, mode), path, -1, const char *, mode_t)

/* The wall clock only: timers run on the other one. */
#define AHEAD (control == NULL ? 0 : atomic_load(&control->clock))
#define SECOND 1000000000LL

int clock_gettime(clockid_t clock, struct timespec *now) {
  REAL(int, "clock_gettime", clockid_t, struct timespec *);
  int result = real(clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    int64_t all = (int64_t)now->tv_sec * SECOND + now->tv_nsec + AHEAD;
    now->tv_sec = all / SECOND;
    now->tv_nsec = all % SECOND;
  }
  return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec fine;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &fine);
  now->tv_sec = fine.tv_sec;
  now->tv_usec = fine.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *out) {
  struct timespec fine;
  clock_gettime(CLOCK_REALTIME, &fine);
  if (out != NULL) *out = fine.tv_sec;
  return fine.tv_sec;
}
