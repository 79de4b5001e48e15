/* client: keeps connections to a server busy, and says what that costs the server.
 *
 *     client [-w] [-s SECONDS] PORT CONNECTIONS [PID...]
 *
 * One thread. On each connection it sends 64 bytes, waits until as many have come back, and sends the
 * next ones. -w: it asks a web server for "/" instead; all answers are as long as the first one. The
 * PIDs are the server's. It prints one line:
 *
 *     connections requests/s median-us 99%-us cpu-us/request switches/request memory-KiB
 *
 * The last three are the server's: its processor time and its context switches, without those for the
 * beginning of the connections, and its memory while they are open. If an answer takes 100 ms, and 20
 * times the median, a second line (of stderr) says what else could be the cause: for how long the
 * server's threads waited for a processor that another program had, and what TCP sent again. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE = 64, ANSWER_MOST = 65536, EVENTS = 256, PIDS = 64 };

typedef struct connection {
    int fd;
    size_t got; /* bytes of the answer */
    uint64_t sent_at;
} connection;

static char message[512] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
static size_t message_size = MESSAGE, answer_size = MESSAGE;
static char answer[ANSWER_MOST];

static void check(bool right, const char *what) {
    if (right) return;
    fprintf(stderr, "client: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_ns(clockid_t clock) {
    struct timespec t;
    check(clock_gettime(clock, &t) == 0, "clock");
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- what the server has used ---- */

typedef struct spent { uint64_t cpu_ns, switches, memory_kib, delay_ns, resent; } spent;

/* The sum of the numbers in those lines of the file whose beginning is `key`, or contains it. */
static uint64_t sum_of_lines(const char *path, const char *key) {
    char line[256];
    const char *place;
    uint64_t sum = 0;
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if ((place = strstr(line, key)) != NULL) sum += strtoull(place + strlen(key), NULL, 10);
    if (file != NULL) fclose(file);
    return sum;
}

/* One of the numbers in the second of two lines, whose name is in the first. */
static uint64_t number_below(const char *path, const char *begin, const char *name) {
    char names[4096], numbers[4096], *rest = names, *values = numbers, *one, *value;
    FILE *file = fopen(path, "r");
    bool found = false;
    while (file != NULL && !found && fgets(names, sizeof names, file) != NULL)
        found = strncmp(names, begin, strlen(begin)) == 0 && fgets(numbers, sizeof numbers, file) != NULL;
    if (file != NULL) fclose(file);
    while (found && (one = strsep(&rest, " \n")) != NULL && (value = strsep(&values, " \n")) != NULL)
        if (strcmp(one, name) == 0) return strtoull(value, NULL, 10);
    return 0;
}

static spent spent_by(char **pids, int count) {
    spent all = {.resent = number_below("/proc/net/snmp", "Tcp:", "RetransSegs")};
    for (int i = 0; i < count; i++) {
        char path[600];
        clockid_t clock = CLOCK_REALTIME;
        const struct dirent *entry;
        snprintf(path, sizeof path, "/proc/%s/smaps_rollup", pids[i]);
        all.memory_kib += sum_of_lines(path, "Pss:");
        snprintf(path, sizeof path, "/proc/%s/task", pids[i]);
        DIR *tasks = opendir(path);
        check(tasks != NULL && clock_getcpuclockid(atoi(pids[i]), &clock) == 0, pids[i]);
        all.cpu_ns += now_ns(clock);
        while ((entry = readdir(tasks)) != NULL) {
            if (entry->d_name[0] == '.') continue;
            snprintf(path, sizeof path, "/proc/%s/task/%s/status", pids[i], entry->d_name);
            all.switches += sum_of_lines(path, "ctxt_switches:");
            snprintf(path, sizeof path, "/proc/%s/task/%s/schedstat", pids[i], entry->d_name);
            all.delay_ns += sum_of_lines(path, " "); /* time on a processor, then waiting for one */
        }
        closedir(tasks);
    }
    return all;
}

/* ---- how long answers take: 32 numbers for each power of two of ns ---- */

static uint64_t counts[64 * 32], longest_ns;

static unsigned bucket_of(uint64_t ns) {
    unsigned shift = 0;
    while (ns >> shift >= 64) shift++;
    return shift * 32 + (unsigned)(ns >> shift);
}

static double quantile_us(uint64_t requests, double part) {
    uint64_t before = 0;
    unsigned i = 0;
    while (i < 64 * 32 - 1 && (double)(before += counts[i]) < part * (double)requests) i++;
    unsigned shift = i < 64 ? 0 : i / 32 - 1;
    return (double)((uint64_t)(i - shift * 32) << shift) / 1000;
}

/* ---- connections ---- */

static int connect_to(uint16_t port) {
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(port)};
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    /* The end is a reset: a port does not stay in use for a minute after that. */
    const struct linger reset = {.l_onoff = 1};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(fd >= 0, "socket");
    check(connect(fd, (struct sockaddr *)&there, sizeof there) == 0, "connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    return fd;
}

static void send_to(connection *one) {
    one->got = 0;
    one->sent_at = now_ns(CLOCK_MONOTONIC);
    check(send(one->fd, message, message_size, MSG_NOSIGNAL) == (ssize_t)message_size, "send");
}

/* The first answer, which says how long the others are. */
static void first_answer(connection *one, bool web) {
    send_to(one);
    while (one->got < answer_size || web) {
        ssize_t n = recv(one->fd, answer + one->got, sizeof answer - 1 - one->got, 0);
        check(n > 0, "recv");
        answer[one->got += (size_t)n] = 0;
        const char *end = strstr(answer, "\r\n\r\n"), *length = strcasestr(answer, "content-length:");
        if (!web || end == NULL) continue;
        check(length != NULL, "an answer without its length");
        answer_size = (size_t)(end + 4 - answer) + strtoull(length + 15, NULL, 10);
        web = one->got < answer_size;
    }
    check(message_size != MESSAGE || memcmp(answer, message, MESSAGE) == 0, "echo");
}

/* Answers until then; returns how many. */
static uint64_t exchange(int queue, uint64_t until) {
    static struct epoll_event events[EVENTS];
    uint64_t requests = 0, now = 0;
    while (now < until) {
        int count = epoll_wait(queue, events, EVENTS, 10000);
        check(count > 0, "no answer within ten seconds");
        for (int i = 0; i < count; i++) {
            connection *one = events[i].data.ptr;
            ssize_t n = recv(one->fd, answer, sizeof answer, MSG_DONTWAIT);
            if (n < 0 && errno == EAGAIN) continue;
            check(n > 0, "recv");
            if ((one->got += (size_t)n) < answer_size) continue;
            check(one->got == answer_size, "too long an answer");
            now = now_ns(CLOCK_MONOTONIC);
            uint64_t took = now - one->sent_at;
            counts[bucket_of(took)]++;
            if (longest_ns < took) longest_ns = took;
            requests++;
            send_to(one);
        }
    }
    return requests;
}

int main(int argc, char **argv) {
    double seconds = 1;
    bool web = false;
    for (int option; (option = getopt(argc, argv, "ws:")) != -1;) {
        if (option == 'w') web = true;
        else if (option == 's') seconds = atof(optarg);
        else return 2;
    }
    char **pids = argv + optind + 2;
    int pid_count = argc - optind - 2;
    if (pid_count < 0) {
        fputs("client [-w] [-s SECONDS] PORT CONNECTIONS [PID...]\n", stderr);
        return 2;
    }
    uint16_t port = (uint16_t)atoi(argv[optind]);
    size_t count = strtoul(argv[optind + 1], NULL, 10);
    if (web)
        message_size = (size_t)snprintf(message, sizeof message, "GET / HTTP/1.1\r\nHost: localhost:%u\r\n\r\n", port);
    connection *all = calloc(count, sizeof *all);
    int queue = epoll_create1(EPOLL_CLOEXEC);
    check(all != NULL && queue >= 0, "epoll");
    for (size_t i = 0; i < count; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[i]};
        all[i].fd = connect_to(port);
        first_answer(&all[i], web);
        check(epoll_ctl(queue, EPOLL_CTL_ADD, all[i].fd, &event) == 0, "epoll");
    }
    for (size_t i = 0; i < count; i++) send_to(&all[i]);
    uint64_t start = now_ns(CLOCK_MONOTONIC), wanted = (uint64_t)(seconds * 1e9);
    (void)exchange(queue, start + wanted / 5); /* caches, pools and rules that adapt */
    memset(counts, 0, sizeof counts);
    longest_ns = 0;
    spent before = spent_by(pids, pid_count);
    start = now_ns(CLOCK_MONOTONIC);
    uint64_t requests = exchange(queue, start + wanted), ns = now_ns(CLOCK_MONOTONIC) - start;
    spent after = spent_by(pids, pid_count);
    double each = (double)requests;
    printf("%zu %.0f %.1f %.1f %.2f %.3f %llu\n", count, each / (double)ns * 1e9,
           quantile_us(requests, 0.5), quantile_us(requests, 0.99),
           (double)(after.cpu_ns - before.cpu_ns) / 1000 / each,
           (double)(after.switches - before.switches) / each, (unsigned long long)after.memory_kib);
    if (longest_ns > 100000000 && (double)longest_ns / 20000 > quantile_us(requests, 0.5))
        fprintf(stderr, "client: an answer took %.0f ms; meanwhile the server's threads waited %.0f ms for a "
                "processor, and TCP sent %llu segments again\n", (double)longest_ns / 1e6,
                (double)(after.delay_ns - before.delay_ns) / 1e6, (unsigned long long)(after.resent - before.resent));
    return 0;
}
