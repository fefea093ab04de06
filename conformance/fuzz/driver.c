// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzzer on the bytes of files, and then on random bytes.
//
// Usage: webnn-fuzz-... [--count=N] [--seconds=N] [--long=N] [--seed=N] [--slow=N] [--current=FILE]
//        [FILE or FOLDER...]
//
//   --count    how many random inputs; without this and --seconds 1000, or none if there are files
//   --seconds  for how long instead
//   --long     for how long if the environment says WNN_LONG=1
//   --seed     of the first random input, the next one has the next seed; with --seconds another one each day
//   --slow     names inputs that take more than so many milliseconds
//   --current  where to write what is running, which is known then whatever ends the program
//
// What ends the program by abort() or a signal names the input too, mostly.

#include "conformance/fuzz/fuzz.h"
#include "conformance/unit/require.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#define MAX_BYTES   700
#define MAX_SECONDS 120 // of one input: longer is a hang

static char current[300]; // what is running
static int current_file = -1;
static double slow_milliseconds = 1e9;

#if SANITIZED
void __sanitizer_set_death_callback(void (*callback)(void));
#endif

static void name_input(void)
{
    static const char text[] = "while running ";
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0 || write(STDERR_FILENO, current, strlen(current)) < 0)
        return;
}

static void on_signal(int number)
{
    name_input();
    signal(number, SIG_DFL);
    raise(number);
}

static void watch_signals(void)
{
    signal(SIGALRM, on_signal);
    signal(SIGABRT, on_signal);
#if SANITIZED
    __sanitizer_set_death_callback(name_input);
#else
    const int numbers[] = {SIGSEGV, SIGFPE, SIGBUS, SIGILL};
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        signal(numbers[i], on_signal);
#endif
}

static double now_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void run_bytes(const uint8_t *bytes, size_t size)
{
    if (current_file >= 0 && pwrite(current_file, current, sizeof current, 0) < 0)
        perror("--current");
    double begin = now_milliseconds();
    alarm(MAX_SECONDS);
    LLVMFuzzerTestOneInput(bytes, size);
    alarm(0);
    if (now_milliseconds() - begin > slow_milliseconds)
        printf("%.0f ms: %s", now_milliseconds() - begin, current);
}

// A file, or all files in a folder. Returns how many, or -1.
static long run_path(const char *path)
{
    static uint8_t bytes[1 << 20];
    DIR *folder = opendir(path);
    if (folder) {
        long count = 0;
        for (struct dirent *entry; count >= 0 && (entry = readdir(folder));) {
            char inner[sizeof current];
            if (entry->d_name[0] == '.')
                continue;
            snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
            long more = run_path(inner);
            count = more < 0 ? -1 : count + more;
        }
        closedir(folder);
        return count;
    }
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return -1;
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    snprintf(current, sizeof current, "%s\n", path);
    run_bytes(bytes, size);
    return 1;
}

// https://prng.di.unimi.it/splitmix64.c
static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static void run_seed(unsigned long seed)
{
    uint8_t bytes[MAX_BYTES];
    uint64_t state = seed;
    state = next_random(&state); // so that seeds side by side do not have sequences that overlap
    size_t size = 0;
    do {
        bytes[size] = (uint8_t)(next_random(&state) >> 32);
    } while (++size < sizeof bytes && size < 60 + seed % 640);
    snprintf(current, sizeof current, "--seed=%lu --count=1\n", seed);
    run_bytes(bytes, size);
}

int main(int argc, char **argv)
{
    const char *patience = getenv("WNN_LONG");
    bool is_long = patience && strcmp(patience, "1") == 0, counted = false;
    unsigned long count = 0, seed = 0, long_seconds = 0, seconds = 0, slow = 0;
    for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
        if (strncmp(argv[1], "--current=", 10) == 0) {
            current_file = open(argv[1] + 10, O_WRONLY | O_CREAT | O_TRUNC, 0666);
            continue;
        }
        bool is_count = sscanf(argv[1], "--count=%lu", &count) == 1;
        counted |= is_count;
        if (!is_count && sscanf(argv[1], "--seconds=%lu", &seconds) != 1 &&
            sscanf(argv[1], "--long=%lu", &long_seconds) != 1 && sscanf(argv[1], "--seed=%lu", &seed) != 1 &&
            sscanf(argv[1], "--slow=%lu", &slow) != 1)
            return 2;
    }
    seconds = is_long && long_seconds ? long_seconds : seconds;
    seed = seed ? seed : seconds ? (unsigned long)time(NULL) / 86400 * 100000000 : 1;
    slow_milliseconds = slow ? (double)slow : slow_milliseconds;
    watch_signals();
    long files = 0;
    for (int i = 1; i < argc; i++) {
        long more = run_path(argv[i]);
        if (more < 0)
            return 1;
        files += more;
    }
    if (!counted && seconds == 0)
        count = argc > 1 ? 0 : 1000;
    printf("%ld files, %lu graphs; random inputs from seed %lu on\n", files, fuzz_built, seed);
    fflush(stdout);
    double end = now_milliseconds() + 1e3 * (double)seconds;
    unsigned long done = 0;
    for (; done < count || now_milliseconds() < end; done++)
        run_seed(seed + done);
    printf("%lu inputs, %lu graphs\n", done, fuzz_built);
    return fuzz_built == 0 && done >= 100;
}
