// SPDX-License-Identifier: Apache-2.0
#include "tools/model/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_READ ((size_t)65536)
#define MAX_GUARDS 64 // mappings at one time; a file beyond them is read
#define NO_GUARD   MAX_GUARDS

// What the handler may know: atomics only. `lock` is for everybody else.
static struct guard {
    atomic_uintptr_t begin; // 0: a free place
    atomic_size_t size;
    atomic_bool lost;      // zeros stand for some of its bytes
    struct mapping *owner; // under the lock
} guards[MAX_GUARDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char changed[1024]; // the path of the first file that has changed, or empty; under the lock
static size_t page_size;

// ---------------------------------------------------------------------------------------------------------------
// Files that become shorter
// ---------------------------------------------------------------------------------------------------------------

// Everything from the page that is gone to the end of its mapping: what lies behind the end of a file is gone
// too. mmap is a system call and nothing else here, so that it can be made in a handler.
static bool replace(const struct guard *guard, uintptr_t address)
{
    uintptr_t begin = atomic_load(&guard->begin);
    size_t size = atomic_load(&guard->size);
    if (!begin || address < begin || address - begin >= size)
        return false;
    uintptr_t page = address - address % page_size;
    return mmap((void *)page, begin + size - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                0) != MAP_FAILED;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    int kept = errno;
    (void)context;
    for (unsigned i = 0; info->si_code > 0 && i < MAX_GUARDS; i++)
        if (replace(&guards[i], (uintptr_t)info->si_addr)) {
            atomic_store(&guards[i].lost, true);
            errno = kept;
            return;
        }
    // Not ours: what would have happened without this handler happens at its end.
    signal(number, SIG_DFL);
    raise(number);
    errno = kept;
}

void mapping_guard(void)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

// False: there is no place left.
static bool add_guard(struct mapping *mapping)
{
    pthread_mutex_lock(&lock);
    unsigned at = 0;
    while (at < MAX_GUARDS && guards[at].owner)
        at++;
    mapping->guard = at;
    if (at < MAX_GUARDS) {
        struct guard *guard = &guards[at];
        guard->owner = mapping;
        atomic_store(&guard->lost, false);
        atomic_store(&guard->size, mapping->size);
        atomic_store(&guard->begin, (uintptr_t)mapping->data);
    }
    pthread_mutex_unlock(&lock);
    return at < MAX_GUARDS;
}

// Under the lock.
static void note_change(const struct guard *guard)
{
    const struct mapping *mapping = guard->owner;
    struct stat status;
    bool same = !atomic_load(&guard->lost) && fstat(mapping->file, &status) == 0 &&
                (size_t)status.st_size == mapping->size &&
                status.st_mtim.tv_sec == mapping->modified.tv_sec &&
                status.st_mtim.tv_nsec == mapping->modified.tv_nsec;
    if (!same && !changed[0])
        snprintf(changed, sizeof changed, "%s", mapping->path);
}

static void remove_guard(const struct mapping *mapping)
{
    struct guard *guard = &guards[mapping->guard];
    pthread_mutex_lock(&lock);
    note_change(guard);
    atomic_store(&guard->begin, 0);
    guard->owner = NULL;
    pthread_mutex_unlock(&lock);
}

bool mapping_check(struct error *error)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < MAX_GUARDS; i++)
        if (guards[i].owner)
            note_change(&guards[i]);
    bool good = !changed[0] || wnn_fail(error, WNNStatus_UnknownError,
                                        "%s changed while it was read; the results mean nothing", changed);
    pthread_mutex_unlock(&lock);
    return good;
}

// ---------------------------------------------------------------------------------------------------------------
// Opening
// ---------------------------------------------------------------------------------------------------------------

// How many bytes there may be, as far as it can be told.
static size_t extent_of(const struct mapping_rule *rule, const unsigned char *data, size_t size)
{
    size_t extent = rule->extent ? rule->extent(data, size, rule->argument) : rule->most;
    return extent < rule->most ? extent : rule->most;
}

static bool fail_long(const char *path, const struct mapping_rule *rule, size_t bytes, struct error *error)
{
    return wnn_fail(error, WNNStatus_TypeError, "%s is longer than %zu bytes, the most that are read of %s",
                    path, bytes, rule->what);
}

// Reads one byte more than there may be, so that what is too long is told from what is not.
static bool read_all(int file, const char *path, const struct mapping_rule *rule, struct mapping *mapping,
                     struct error *error)
{
    unsigned char *data = malloc(1);
    size_t capacity = 0, size = 0;
    bool good = data || wnn_fail_memory(error);
    for (size_t extent = good ? extent_of(rule, data, 0) : 0; good; extent = extent_of(rule, data, size)) {
        if (extent == 0 && rule->extent)
            break;
        if (size > extent) {
            good = fail_long(path, rule, extent, error);
            break;
        }
        if (size == capacity) {
            size_t wanted = capacity ? capacity * 2 : FIRST_READ;
            wanted = wanted > rule->most ? rule->most + 1 : wanted;
            unsigned char *grown = realloc(data, wanted);
            if (!grown) {
                good = wnn_fail_memory(error);
                break;
            }
            data = grown;
            capacity = wanted;
        }
        size_t room = capacity - size;
        ssize_t count = read(file, data + size, extent - size < room ? extent - size + 1 : room);
        if (count == 0)
            break;
        if (count > 0)
            size += (size_t)count;
        else if (errno != EINTR)
            good = wnn_fail(error, WNNStatus_UnknownError, "%s: %s", path, strerror(errno));
    }
    mapping->data = data;
    mapping->size = size;
    if (!good)
        free(data);
    return good;
}

// Keeps the file open, which is how changes are noticed. False: it must be read.
static bool map(int file, const char *path, const struct stat *status, struct mapping *mapping)
{
    mapping->size = (size_t)status->st_size;
    void *data = mmap(NULL, mapping->size, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED)
        return false;
    mapping->data = data;
    mapping->mapped = true;
    mapping->file = file;
    mapping->modified = status->st_mtim;
    mapping->path = strdup(path);
    if (mapping->path && add_guard(mapping))
        return true;
    munmap(data, mapping->size);
    free(mapping->path);
    mapping->mapped = false;
    return false;
}

struct mapping *mapping_open(const char *path, const struct mapping_rule *rule, struct error *error)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (file >= 0)
        return mapping_take(file, path, rule, error);
    wnn_fail(error, WNNStatus_UnknownError, "%s: %s", path, strerror(errno));
    return NULL;
}

struct mapping *mapping_take(int file, const char *path, const struct mapping_rule *rule, struct error *error)
{
    struct stat status;
    if (fstat(file, &status) != 0) {
        wnn_fail(error, WNNStatus_UnknownError, "%s: %s", path, strerror(errno));
        close(file);
        return NULL;
    }
    struct mapping *mapping = calloc(1, sizeof *mapping);
    if (!mapping) {
        wnn_fail_memory(error);
        close(file);
        return NULL;
    }
    atomic_init(&mapping->references, 1);
    // A file that somebody has begun to read goes on where that ended.
    bool sized = S_ISREG(status.st_mode) && status.st_size > 0 && lseek(file, 0, SEEK_CUR) == 0;
    if (sized && !rule->copy && map(file, path, &status, mapping))
        return mapping;
    bool good = sized && rule->copy && (uint64_t)status.st_size > rule->most
                    ? fail_long(path, rule, rule->most, error)
                    : read_all(file, path, rule, mapping, error);
    close(file);
    if (good)
        return mapping;
    free(mapping);
    return NULL;
}

struct mapping *mapping_ref(struct mapping *mapping)
{
    atomic_fetch_add_explicit(&mapping->references, 1, memory_order_relaxed);
    return mapping;
}

void mapping_unref(struct mapping *mapping)
{
    if (!mapping || atomic_fetch_sub_explicit(&mapping->references, 1, memory_order_acq_rel) != 1)
        return;
    // The qualifier only kept this program from writing into the file's bytes.
    void *data = (void *)(uintptr_t)mapping->data;
    if (mapping->mapped) {
        remove_guard(mapping);
        munmap(data, mapping->size);
        close(mapping->file);
        free(mapping->path);
    } else {
        free(data);
    }
    free(mapping);
}
