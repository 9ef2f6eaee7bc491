/* Counts what a process changes in one folder; at operation N, kills it or lets it fail.

   Loaded by LD_PRELOAD, it stands in for the C library's functions that change files. Idle until
   interposer_arm() is called; then it minds the calling process alone, not what that forks.
   Writes through stdio (fwrite) are not seen: Python, Rust and our code write by write(). */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WATCH, KILL_BEFORE, KILL_AMID, KILL_AFTER, FAIL_ONCE, FAIL_ONWARD };

static struct {
    pid_t process;           /* 0 while idle */
    char folder[PATH_MAX];   /* only operations in here count */
    char kind[32];           /* and only those of this name, unless it is empty */
    int journal;             /* each is written down here, unless it is -1 */
    int action, error;
    long number, count;
} armed;

#define REAL(name) ((__typeof__(&name)) dlsym(RTLD_NEXT, #name))

/* Begin to count; `number` is the first operation's 1. */
void interposer_arm(const char *folder, const char *kind, int journal, int action, long number,
                    int error) {
    snprintf(armed.folder, sizeof armed.folder, "%s/", folder);
    snprintf(armed.kind, sizeof armed.kind, "%s", kind);
    armed.journal = journal, armed.action = action, armed.error = error;
    armed.number = number, armed.count = 0;
    armed.process = getpid();
}

static void die(void) { raise(SIGKILL); }

/* The full path of a name below an open folder (or of the file itself, if the name is empty). */
static void full_path(int directory, const char *name, char *path) {
    char link[64], base[PATH_MAX] = "";
    if (name[0] != '/') {
        snprintf(link, sizeof link, directory == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d",
                 directory);
        ssize_t length = REAL(readlink)(link, base, sizeof base - 1);
        base[length < 0 ? 0 : length] = 0;
    }
    snprintf(path, PATH_MAX, "%s%s%s", base, name[0] && name[0] != '/' ? "/" : "", name);
}

/* An operation begins: its place in the count, or 0 if it does not count. */
static long begin(const char *kind, int directory, const char *name) {
    char path[PATH_MAX], line[PATH_MAX + 64];
    if (armed.process == 0 || armed.process != getpid()) return 0;
    if (armed.kind[0] && strcmp(armed.kind, kind)) return 0;
    int before = errno;
    full_path(directory, name, path);
    errno = before;
    if (strncmp(path, armed.folder, strlen(armed.folder))) {
        size_t length = strlen(armed.folder) - 1; /* the folder itself */
        if (strncmp(path, armed.folder, length) || path[length]) return 0;
    }
    long count = __atomic_add_fetch(&armed.count, 1, __ATOMIC_SEQ_CST);
    if (armed.journal >= 0) {
        int length = snprintf(line, sizeof line, "%d\t%ld\t%s\t%s\n", getpid(), count, kind, path);
        REAL(write)(armed.journal, line, length);
    }
    int due = count == armed.number;
    if (due && (armed.action == KILL_BEFORE || (armed.action == KILL_AMID && strcmp(kind, "write"))))
        die();
    return count;
}

/* Whether an operation is to fail; then errno says how. */
static int fails(long count) {
    int due = armed.action == FAIL_ONCE     ? count == armed.number
              : armed.action == FAIL_ONWARD ? count >= armed.number
                                            : 0;
    if (count == 0 || !due) return 0;
    errno = armed.error;
    return 1;
}

static void end(long count) {
    if (count && count == armed.number && armed.action == KILL_AFTER) die();
}

static int dies_amid(long count) {
    return count && count == armed.number && armed.action == KILL_AMID;
}

/* A function that changes something by path or by descriptor: count, fail or call, count. */
#define STAND_IN(type, function, parameters, arguments, kind, directory, name) \
    type function parameters {                                                 \
        long count = begin(kind, directory, name);                             \
        if (fails(count)) return -1;                                           \
        type result = REAL(function) arguments;                                \
        end(count);                                                            \
        return result;                                                         \
    }

STAND_IN(int, rename, (const char *from, const char *to), (from, to), "rename", AT_FDCWD, from)
STAND_IN(int, renameat, (int in, const char *from, int there, const char *to),
         (in, from, there, to), "rename", in, from)
STAND_IN(int, mkdir, (const char *path, mode_t mode), (path, mode), "mkdir", AT_FDCWD, path)
STAND_IN(int, mkdirat, (int in, const char *path, mode_t mode), (in, path, mode), "mkdir", in, path)
STAND_IN(int, rmdir, (const char *path), (path), "rmdir", AT_FDCWD, path)
STAND_IN(int, unlink, (const char *path), (path), "unlink", AT_FDCWD, path)
STAND_IN(int, unlinkat, (int in, const char *path, int flags), (in, path, flags),
         flags & AT_REMOVEDIR ? "rmdir" : "unlink", in, path)
STAND_IN(int, fsync, (int file), (file), "fsync", file, "")
STAND_IN(int, fdatasync, (int file), (file), "fsync", file, "")
STAND_IN(int, ftruncate, (int file, off_t size), (file, size), "truncate", file, "")
STAND_IN(int, ftruncate64, (int file, off64_t size), (file, size), "truncate", file, "")
STAND_IN(ssize_t, writev, (int file, const struct iovec *parts, int number), (file, parts, number),
         "writev", file, "")

/* Writing can be cut in the middle: half the bytes arrive, then the process dies. */
#define STAND_IN_WRITE(function, parameters, whole, half)      \
    ssize_t function parameters {                              \
        long count = begin("write", file, "");                 \
        if (fails(count)) return -1;                           \
        if (dies_amid(count)) {                                \
            REAL(function) half;                               \
            die();                                             \
        }                                                      \
        ssize_t result = REAL(function) whole;                 \
        end(count);                                            \
        return result;                                         \
    }

STAND_IN_WRITE(write, (int file, const void *bytes, size_t size), (file, bytes, size),
               (file, bytes, size / 2))
STAND_IN_WRITE(pwrite, (int file, const void *bytes, size_t size, off_t at),
               (file, bytes, size, at), (file, bytes, size / 2, at))
STAND_IN_WRITE(pwrite64, (int file, const void *bytes, size_t size, off64_t at),
               (file, bytes, size, at), (file, bytes, size / 2, at))

/* Opening counts where it may create or empty a file. */
#define STAND_IN_OPEN(function, parameters, arguments, directory)                             \
    int function parameters {                                                                 \
        va_list rest;                                                                         \
        va_start(rest, flags);                                                                \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;             \
        va_end(rest);                                                                         \
        long count = flags & (O_CREAT | O_TRUNC) ? begin("open", directory, path) : 0;        \
        if (fails(count)) return -1;                                                          \
        int result = REAL(function) arguments;                                                \
        end(count);                                                                           \
        return result;                                                                        \
    }

STAND_IN_OPEN(open, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD)
STAND_IN_OPEN(open64, (const char *path, int flags, ...), (path, flags, mode), AT_FDCWD)
STAND_IN_OPEN(openat, (int in, const char *path, int flags, ...), (in, path, flags, mode), in)
STAND_IN_OPEN(openat64, (int in, const char *path, int flags, ...), (in, path, flags, mode), in)
