/* What wsq.h reads of Linux's /sys and /proc, on machines that only the test knows: their files are in a
 * table here. And what it asks of the kernel's clock. */
#include "test.h"

#ifdef __linux__
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>

static int fake_open(const char *path, int flags);
static ssize_t fake_read(int file, void *text, size_t size);
static int fake_close(int file);
long fake_syscall(long number, ...);
int fake_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until);
int fake_getcpu(void);

#define open fake_open
#define read fake_read
#define close fake_close
#define syscall fake_syscall
#define pthread_cond_timedwait fake_timedwait
#define sched_getcpu fake_getcpu
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#undef open
#undef read
#undef close
#undef syscall
#undef pthread_cond_timedwait
#undef sched_getcpu

#include <stdarg.h>

/* ---- time-outs ---- */

static atomic_llong longest; /* seconds that a thread asked to sleep for */

static void asks_for(long long seconds) {
    long long most = atomic_load(&longest);
    while (seconds > most && !atomic_compare_exchange_weak(&longest, &most, seconds)) {}
}

int fake_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
    asks_for((long long)until->tv_sec - (long long)(wsqi_clock_ns() / 1000000000u));
    return pthread_cond_timedwait(condition, mutex, until);
}

static int processor = -1; /* where a thread runs; -1: where it does */

int fake_getcpu(void) { return processor >= 0 ? processor : sched_getcpu(); }

static const unsigned long *taskset; /* what another thread sets as this one's mask, meanwhile */

long fake_syscall(long number, ...) {
    const int given = number == SYS_futex ? 6 : number == SYS_prctl ? 5 : 3;
    va_list list;
    long a[6] = {0};
    va_start(list, number);
    for (int i = 0; i < given; i++) a[i] = va_arg(list, long);
    va_end(list);
#ifdef WSQI_FUTEX
    if (number == SYS_futex && a[1] == WSQI_FUTEX_WAIT_PRIVATE && a[3] != 0)
        asks_for(((const wsqi_futex_time *)a[3])->sec);
#endif
    long result = syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (number == SYS_sched_setaffinity && taskset != NULL) {
        syscall(SYS_sched_setaffinity, 0, a[1], taskset);
        taskset = NULL;
    }
    return result;
}

static wsq_poll woken_twice(wsq_ctx ctx, wsq_task *task) {
    static atomic_int runs;
    (void)ctx, (void)task;
    return atomic_fetch_add(&runs, 1) == 0 ? WSQ_PENDING : WSQ_DONE;
}

typedef struct patient { wsq_task *task; atomic_bool begun; } patient;

static void *wait_for_long(void *arg) {
    patient *self = arg;
    atomic_store(&self->begun, true);
    CHECK_EQ(wsq_task_wait_for(self->task, 3000000000u * (uint64_t)1000000000u), WSQ_OK);
    return NULL;
}

/* Seconds from 2^31 to 2^32 do not fit where time_t has 32 bits: the watcher of a timer, a park time-out,
 * a thread that waits. Nobody asks the system for so many. */
static void spans_fit(void) {
    const wsq_config config = {.workers = 2, .park_timeout_ns = 2500000000u * (uint64_t)1000000000u};
    wsq_pool *pool;
    wsq_task task;
    wsq_timer timer = {0};
    patient waiter = {.task = &task};
    pthread_t thread;
    CHECK_EQ(wsq_pool_create(&pool, &config), WSQ_OK);
    wsq_task_init(&task, woken_twice);
    CHECK_EQ(wsq_spawn(pool, &task), WSQ_OK);
    CHECK_EQ(wsq_timer_set(pool, &timer, &task, 3500000000u * (uint64_t)1000000000u), WSQ_OK);
    CHECK_EQ(pthread_create(&thread, NULL, wait_for_long, &waiter), 0);
    while (!atomic_load(&waiter.begun) || atomic_load(&longest) == 0) sched_yield();
    test_nap(20000000);
    CHECK(atomic_load(&longest) <= INT32_MAX);
    CHECK(wsq_timer_cancel(&timer));
    wsq_wake(&task);
    pthread_join(thread, NULL);
    wsq_pool_destroy(pool);
}

/* ---- files ---- */

/* A file's path below "/sys/devices/system" or elsewhere, and what is in it. */
typedef struct fake_file { const char *path, *text; } fake_file;

static const fake_file *files; /* up to one without a path */
static unsigned opens;

static size_t position; /* one file is open at a time */

/* A descriptor is the file's number. A program that another thread starts meanwhile must not get it. */
static int fake_open(const char *path, int flags) {
    static const char devices[] = "/sys/devices/system/";
    CHECK((flags & O_CLOEXEC) != 0);
    opens++;
    position = 0;
    if (strncmp(path, devices, sizeof devices - 1) == 0) path += sizeof devices - 1;
    for (int i = 0; files != NULL && files[i].path != NULL; i++)
        if (strcmp(files[i].path, path) == 0) return i;
    errno = ENOENT;
    return -1;
}

/* A page at a time, as the kernel gives them. */
static ssize_t fake_read(int file, void *text, size_t size) {
    size_t length = strlen(files[file].text + position);
    if (length > size) length = size;
    if (length > 4096) length = 4096;
    memcpy(text, files[file].text + position, length);
    position += length;
    return (ssize_t)length;
}

static int fake_close(int file) {
    (void)file;
    return 0;
}

enum { MOST = 64 };

static uint32_t places[MOST];

static unsigned read_places(const fake_file *machine) {
    memset(places, 0, sizeof places);
    files = machine;
    unsigned count = wsqi_places_read(places, MOST);
    files = NULL;
    return count;
}

#define CACHE(cpu, level) "cpu/cpu" #cpu "/cache/index" #level "/shared_cpu_list"

/* The kernel keeps no cache folder of a processor that is offline. */
static void offline_processor(void) {
    static const fake_file machine[] = {{"cpu/possible", "0-5\n"},
                                        {CACHE(0, 3), "0,2\n"},
                                        {CACHE(2, 3), "0,2\n"},
                                        {CACHE(3, 3), "3-4\n"},
                                        {CACHE(4, 3), "3-4\n"},
                                        {NULL, NULL}};
    static const uint32_t expected[] = {0, 0, 0, 3, 3, 0};
    CHECK_EQ(read_places(machine), 6);
    for (int i = 0; i < 6; i++) CHECK_EQ(places[i], expected[i]);
}

/* Memory may be taken out with its node, and a node may have no processors. */
static void missing_node(void) {
    static const fake_file machine[] = {{"cpu/possible", "0-5\n"},
                                        {CACHE(0, 3), "0-1\n"},
                                        {CACHE(1, 3), "0-1\n"},
                                        {CACHE(2, 3), "2-3\n"},
                                        {CACHE(3, 3), "2-3\n"},
                                        {CACHE(4, 3), "4-5\n"},
                                        {CACHE(5, 3), "4-5\n"},
                                        {"node/online", "0,2-3,8\n"},
                                        {"node/node0/cpulist", "0-1\n"},
                                        {"node/node2/cpulist", "2-3\n"},
                                        {"node/node3/cpulist", "\n"},
                                        {"node/node8/cpulist", "4,5\n"},
                                        {NULL, NULL}};
    static const uint32_t expected[] = {0, 0, 2 << 16 | 2, 2 << 16 | 2, 8 << 16 | 4, 8 << 16 | 4};
    CHECK_EQ(read_places(machine), 6);
    for (int i = 0; i < 6; i++) CHECK_EQ(places[i], expected[i]);
}

/* Cores that have no third level beside cores that have. */
static void levels_differ(void) {
    static const fake_file machine[] = {{"cpu/possible", "0-3\n"},
                                        {CACHE(0, 2), "0\n"},
                                        {CACHE(0, 3), "0-1\n"},
                                        {CACHE(1, 2), "1\n"},
                                        {CACHE(1, 3), "0-1\n"},
                                        {CACHE(2, 2), "2-3\n"},
                                        {CACHE(3, 2), "2-3\n"},
                                        {NULL, NULL}};
    static const uint32_t expected[] = {0, 0, 2, 2};
    CHECK_EQ(read_places(machine), 4);
    for (int i = 0; i < 4; i++) CHECK_EQ(places[i], expected[i]);
}

static void odd_machines(void) {
    static const fake_file nothing[] = {{NULL, NULL}};
    static const fake_file silent[] = {{"cpu/possible", "0-3\n"}, {"node/online", "0\n"}, {NULL, NULL}};
    static const fake_file large[] = {{"cpu/possible", "0-8191\n"},
                                      {"node/online", "0-1\n"},
                                      {"node/node1/cpulist", "60-8191\n"},
                                      {NULL, NULL}};
    CHECK_EQ(read_places(nothing), 0);
    CHECK_EQ(read_places(silent), 4);
    for (int i = 0; i < 4; i++) CHECK_EQ(places[i], 0);
    CHECK_EQ(read_places(large), MOST);
    for (uint32_t i = 0; i < MOST; i++) CHECK_EQ(places[i], i < 60 ? 0 : 1 << 16);
}

/* A pool on such a machine knows which workers are near. */
static void pool_is_placed(void) {
    static const fake_file machine[] = {{"cpu/possible", "0-3\n"},
                                        {CACHE(0, 3), "0\n"},
                                        {CACHE(2, 3), "2-3\n"},
                                        {CACHE(3, 3), "2-3\n"},
                                        {NULL, NULL}};
    const wsq_config config = {.workers = 3};
    wsq_pool *pool;
    files = machine;
    CHECK_EQ(wsq_pool_create(&pool, &config), WSQ_OK);
    files = NULL;
    bool many = pool->processors > 1; /* where the threads may use one processor only, none is near */
    CHECK_EQ(pool->places.matter, many);
    CHECK_EQ(pool->places.cpus, many ? 4 : 0);
    wsq_pool_destroy(pool);
}

/* ---- control groups ---- */

static void lists(void) {
    uint32_t marks[10] = {0};
    wsqi_list_mark("0-2,5,8-20\n", marks, 10, 3);
    wsqi_list_mark("\n", marks, 10, 4);
    for (unsigned i = 0; i < 10; i++) CHECK_EQ(marks[i], i <= 2 || i == 5 || i >= 8 ? 3 : 0);
}

static void check_group(const char *file, const char *path) {
    const fake_file machine[] = {{"/proc/self/cgroup", file}, {NULL, NULL}};
    char text[WSQI_GROUP_BYTES] = "";
    files = machine;
    wsqi_cgroup_path(text);
    files = NULL;
    if (!CHECK(strcmp(text, path) == 0)) fprintf(stderr, "    %s: %s\n", file, text);
}

static void group_paths(void) {
    check_group("0::/a/b\n", "/a/b"); /* version 2, alone */
    check_group("4:memory:/m\n3:cpu,cpuacct:/c\n", "/c");
    check_group("3:cpuacct,cpu:/c\n", "/c");
    check_group("6:cpuset:/s\n5:cpuacct:/a\n3:cpu:/c\n", "/c");
    check_group("6:cpuset:/s\n", "");
    check_group("1:name=0::/n\n10::/x\n", "");
    check_group("1:cpu:/c\n0::/u", "/c"); /* both: the controller is in one of them */
    check_group("0::/u\n1:cpu:/c", "/c");
    check_group("0::/u\n1:cpuset:/s\n2:name=systemd:/n\n", "/u");
    check_group("4:memory:/m\n", "");
    check_group("nothing\n:\n\n::\n", "");
    check_group("", "");
}

static unsigned count_cores(const fake_file *machine) {
    files = machine;
    unsigned count = wsqi_cpu_count();
    files = NULL;
    return count;
}

/* The quota of a group, or of one above it; never more than the affinity mask allows. */
static void group_quotas(void) {
    static char far[9000];
    const fake_file two[] = {{"/proc/self/cgroup", "0::/a/b\n"},
                             {"/sys/fs/cgroup/a/cpu.max", "100000 100000\n"},
                             {"/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"},
                             {NULL, NULL}};
    const fake_file one[] = {{"/proc/self/cgroup", "2:cpuset:/s\n1:cpu,cpuacct:/c\n0::/u\n"},
                             {"/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "50000\n"},
                             {"/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n"},
                             {NULL, NULL}};
    const fake_file long_one[] = {{"/proc/self/cgroup", far},
                                  {"/sys/fs/cgroup/cpu/c/cpu.cfs_quota_us", "50000\n"},
                                  {"/sys/fs/cgroup/cpu/c/cpu.cfs_period_us", "100000\n"},
                                  {NULL, NULL}};
    const fake_file none[] = {{"/proc/self/cgroup", "0::/\n"}, {NULL, NULL}};
    memset(far, 'x', sizeof far - 10); /* as a container engine names its groups, for each controller */
    for (size_t line = 0; line < 8; line++) memcpy(far + 1000 * line, &"\n9:memory:/"[line == 0], 11 - (line == 0));
    strcpy(far + sizeof far - 10, "\n1:cpu:/c");
    CHECK_EQ(count_cores(two), 1);
    CHECK_EQ(count_cores(one), 1);
    CHECK_EQ(count_cores(long_one), 1);
    CHECK_EQ(count_cores(none), count_cores(NULL));
}

/* A pool whose workers are given reads no files. */
static void no_files(void) {
    wsq_pool *pool;
    opens = 0;
    CHECK_EQ(wsq_pool_create(&pool, &(wsq_config){.workers = 2}), WSQ_OK);
    CHECK_EQ(opens, 0);
    wsq_pool_destroy(pool);
}

/* ---- the affinity mask of a thread that moves ---- */

static void mask_stays(void) {
    unsigned long before[128] = {0}, after[128] = {0}, one[128] = {0};
    long size = syscall(SYS_sched_getaffinity, 0, sizeof before, before);
    if (!CHECK(size > 0)) return;
    wsqi_cpu_leave();
    CHECK_EQ(syscall(SYS_sched_getaffinity, 0, sizeof after, after), size);
    CHECK(memcmp(before, after, (size_t)size) == 0);
    /* The lowest of them alone: set by another thread while this one moves, it stays. */
    long word = 0;
    while (before[word] == 0) word++;
    one[word] = before[word] & (0 - before[word]);
    processor = (int)(8 * sizeof(long)) * (int)word + __builtin_ctzl(one[word]);
    bool several = memcmp(one, before, (size_t)size) != 0;
    for (int i = 0; i < 2 && several; i++) {
        taskset = one;
        wsqi_cpu_leave();
        CHECK_EQ(syscall(SYS_sched_getaffinity, 0, sizeof after, after), size);
        CHECK(memcmp(one, after, (size_t)size) == 0);
        CHECK(taskset == NULL);
        CHECK_EQ(syscall(SYS_sched_setaffinity, 0, size, before), 0);
    }
    processor = -1;
}

#endif

/* ---- memory ---- */

#ifdef __linux__
/* Says whether the mapping around `address` has this flag. */
static bool mapping_has(const void *address, const char *flag) {
    char line[512];
    bool mine = false, has = false;
    FILE *file = fopen("/proc/self/smaps", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        unsigned long long begin, end;
        if (sscanf(line, "%llx-%llx ", &begin, &end) == 2)
            mine = begin <= (uintptr_t)address && (uintptr_t)address < end;
        else if (mine && strncmp(line, "VmFlags:", 8) == 0) has = strstr(line, flag) != NULL;
    }
    if (file != NULL) fclose(file);
    return has;
}

/* With transparent huge pages always on, an idle worker would take 1 or 2 MiB for a few KiB. */
static void no_huge_pages(void) {
    const wsq_config config = {.workers = 4};
    wsq_pool *pool;
    CHECK_EQ(wsq_pool_create(&pool, &config), WSQ_OK);
#if !defined(WSQI_ASAN)
    bool known = access("/sys/kernel/mm/transparent_hugepage", F_OK) == 0 &&
                 syscall(SYS_madvise, wsqi_block(pool, 0), 4096L, -1L) != 0; /* QEMU takes anything */
    for (unsigned i = 0; known && i < 4; i++) CHECK(mapping_has(wsqi_block(pool, i), " nh"));
#else
    (void)mapping_has;
#endif
    wsq_pool_destroy(pool);
}

static void add(wsq_ctx ctx, size_t begin, size_t end, void *arg) {
    (void)ctx;
    atomic_fetch_add((atomic_size_t *)arg, end - begin);
}

static void add_all(wsq_ctx ctx, void *arg) { wsq_for(ctx, 0, 1000, 10, add, arg); }

/* Stacks take 8 MiB of addresses each, by default; the pool itself little more than its blocks. */
static int pool_in(size_t address_space) {
    const struct rlimit limit = {address_space, address_space};
    const wsq_config config = {.workers = 2};
    wsq_pool *pool;
    atomic_size_t sum = 0;
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 1;
    if (wsq_pool_create(&pool, &config) != WSQ_OK) return 2;
    if (wsq_run(pool, add_all, &sum) != WSQ_OK || atomic_load(&sum) != 1000) return 3;
    wsq_pool_destroy(pool);
    return 0;
}

static void little_address_space(void) {
    size_t pages = 0;
    int status = -1;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%zu", &pages) != 1) pages = 0;
    if (file != NULL) fclose(file);
    if (TEST_SLOWDOWN > 1 || pages == 0) return; /* sanitizers need a lot */
    pid_t child = fork();
    if (child == 0) _exit(pool_in(pages * (size_t)sysconf(_SC_PAGESIZE) + ((size_t)28 << 20)));
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
}
#endif

#ifdef __linux__
/* ---- what a pool maps, it unmaps ---- */

static long pages(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    long count = 0;
    if (file == NULL || fscanf(file, "%ld", &count) != 1) FAIL("no statm");
    if (file != NULL) fclose(file);
    return count;
}

static void mappings_go(void) {
    long before = 0;
    if (TEST_SLOWDOWN > 1) return; /* sanitizers keep freed memory */
    for (int i = 0; i < 136; i++) {
        wsq_pool *pool = NULL;
        CHECK_EQ(wsq_pool_create(&pool, &(wsq_config){.workers = 1, .lend_only = true}), WSQ_OK);
        wsq_pool_destroy(pool);
        if (i == 7) before = pages();
    }
    CHECK(pages() < before + 64); /* one for each pool would be more */
}
#endif

int main(void) {
    test_begin("test_system");
#ifdef __linux__
    RUN(spans_fit);
    RUN(lists);
    RUN(offline_processor);
    RUN(missing_node);
    RUN(levels_differ);
    RUN(odd_machines);
    RUN(pool_is_placed);
    RUN(group_paths);
    RUN(group_quotas);
    RUN(no_files);
    RUN(mask_stays);
    RUN(mappings_go);
    RUN(no_huge_pages);
    RUN(little_address_space);
#endif
    return test_end();
}
