/*
 * A disk that fails on command, for one process and one directory: loaded with LD_PRELOAD, it
 * answers system calls on files below DISK_DIRECTORY as the first word of the file DISK_CONTROL
 * says: `sound`, `full`, `read_only`, `broken`, or `slow` with the milliseconds of each sync.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name)) dlsym(RTLD_NEXT, #name)

enum act { GROWS, CHANGES, SYNCS };

static int is_below(const char *path) {
  const char *directory = getenv("DISK_DIRECTORY");
  return directory && !strncmp(path, directory, strlen(directory));
}

static int is_open_below(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return is_below(path);
}

static void read_control(char *word, size_t size, long *ms) {
  char text[64] = "sound";
  static int (*open_file)(const char *, int, ...);
  if (!open_file) open_file = (int (*)(const char *, int, ...)) dlsym(RTLD_NEXT, "open");
  const char *path = getenv("DISK_CONTROL");
  int fd = path ? open_file(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd >= 0) {
    ssize_t length = read(fd, text, sizeof text - 1);
    text[length > 0 ? length : 0] = 0;
    close(fd);
  }
  *ms = 0;
  snprintf(word, size, "sound");
  sscanf(text, "%31s %ld", word, ms);
}

/* 0, or -1 with errno where the disk fails. */
static int fault(enum act act) {
  int before = errno;
  char word[32];
  long ms;
  read_control(word, sizeof word, &ms);
  errno = before;
  if (!strcmp(word, "slow") && act == SYNCS) {
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&pause, NULL);
  }
  if (!strcmp(word, "full") && act == GROWS) return errno = ENOSPC, -1;
  if (!strcmp(word, "read_only") && act != SYNCS) return errno = EROFS, -1;
  if (!strcmp(word, "broken")) return errno = EIO, -1;
  return 0;
}

#define ON_DESCRIPTOR(result, name, act, parameters, arguments) \
  result name parameters { \
    REAL(name); \
    if (is_open_below(fd) && fault(act)) return -1; \
    return real arguments; \
  }

ON_DESCRIPTOR(ssize_t, write, GROWS, (int fd, const void *from, size_t size), (fd, from, size))
ON_DESCRIPTOR(ssize_t, pwrite, GROWS, (int fd, const void *from, size_t size, off_t at),
              (fd, from, size, at))
ON_DESCRIPTOR(ssize_t, pwrite64, GROWS, (int fd, const void *from, size_t size, off64_t at),
              (fd, from, size, at))
ON_DESCRIPTOR(int, fsync, SYNCS, (int fd), (fd))
ON_DESCRIPTOR(int, fdatasync, SYNCS, (int fd), (fd))
ON_DESCRIPTOR(int, ftruncate, CHANGES, (int fd, off_t size), (fd, size))
ON_DESCRIPTOR(int, ftruncate64, CHANGES, (int fd, off64_t size), (fd, size))

#define ON_PATH(name, act, parameters, arguments) \
  int name parameters { \
    REAL(name); \
    if (is_below(path) && fault(act)) return -1; \
    return real arguments; \
  }

ON_PATH(mkdir, GROWS, (const char *path, mode_t mode), (path, mode))
ON_PATH(unlink, CHANGES, (const char *path), (path))
ON_PATH(rename, CHANGES, (const char *path, const char *to), (path, to))

static int opens_for_writing(int flags) {
  return (flags & O_ACCMODE) != O_RDONLY || flags & O_CREAT;
}

/* A full disk has no room for a new file; one that exists can be opened. */
static enum act act_of(int flags) {
  return flags & O_EXCL ? GROWS : CHANGES;
}

#define ON_OPEN(name, parameters, arguments) \
  int name parameters { \
    REAL(name); \
    va_list more; \
    va_start(more, flags); \
    mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0; \
    va_end(more); \
    if (opens_for_writing(flags) && is_below(path) && fault(act_of(flags))) return -1; \
    return real arguments; \
  }

ON_OPEN(open, (const char *path, int flags, ...), (path, flags, mode))
ON_OPEN(open64, (const char *path, int flags, ...), (path, flags, mode))
ON_OPEN(openat, (int at, const char *path, int flags, ...), (at, path, flags, mode))
ON_OPEN(openat64, (int at, const char *path, int flags, ...), (at, path, flags, mode))
