/* The client of test_httpd.sh: nothing that was asked before the server's SIGTERM goes unanswered.
 *     httpd_client port server-pid big-path
 *
 * It opens connections of six kinds, stops the server's process (SIGSTOP), sends a known number of
 * requests on each, then SIGTERM, and lets it go on: what was asked before is all in the kernel's
 * hands. Every answer must come, complete, then the end of the stream. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { PER_KIND = 25, PIPELINED = 20 };

enum kind {
    UNACCEPTED,    /* connects while the server is stopped */
    FRESH,         /* connected, not asked yet */
    ANSWERED_ONCE,
    KEPT_ALIVE,    /* answered, asks no more: must be closed soon */
    PIPELINE,      /* many requests in one write */
    SLOW_READER,   /* a big answer that does not fit into the socket is under way */
    HALF_CLOSED,   /* says that nothing follows */
    KINDS
};

static const char *const names[] = {"not accepted yet", "fresh", "asked again", "idle",
                                    "pipelined", "slow to read", "half closed"};

enum { ALL = PER_KIND * KINDS };

struct client {
    int fd;
    unsigned expected; /* answers that it has not read yet */
    size_t length;
    char buffer[65536];
};

static uint16_t port;
static const char *big;

static void must(bool right, const char *what) {
    if (right) return;
    perror(what);
    exit(2);
}

static void open_client(struct client *c) {
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(port)};
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    must(connect(c->fd, (struct sockaddr *)&there, sizeof there) == 0, "connect");
}

static void ask(struct client *c, const char *path, unsigned times) {
    char text[PIPELINED * 80];
    size_t length = 0;
    for (unsigned i = 0; i < times; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "GET %s HTTP/1.1\r\nHost: here\r\n\r\n", path);
    }
    must(send(c->fd, text, length, 0) == (ssize_t)length, "send");
    c->expected += times;
}

/* More bytes into the buffer; false at the end of the stream, or a reset. */
static bool read_more(struct client *c) {
    ssize_t n = recv(c->fd, c->buffer + c->length, sizeof c->buffer - c->length, 0);
    if (n > 0) c->length += (size_t)n;
    return n > 0;
}

static void drop(struct client *c, size_t used) {
    c->length -= used;
    memmove(c->buffer, c->buffer + used, c->length);
}

/* Reads one answer to its last byte. */
static bool read_answer(struct client *c) {
    char *end;
    while ((end = memmem(c->buffer, c->length, "\r\n\r\n", 4)) == NULL) {
        if (!read_more(c)) return false;
    }
    *end = '\0';
    char *length = strstr(c->buffer, "Content-Length: ");
    if (strncmp(c->buffer, "HTTP/1.1 200 ", 13) != 0 || !length) return false;
    size_t left = strtoul(length + 16, NULL, 10);
    drop(c, (size_t)(end - c->buffer) + 4);
    while (left > 0) {
        size_t used = c->length < left ? c->length : left;
        drop(c, used);
        left -= used;
        if (left > 0 && !read_more(c)) return false;
    }
    c->expected--;
    return true;
}

/* Before the server's process is stopped. */
static void prepare(struct client *c, enum kind kind) {
    if (kind == UNACCEPTED) return;
    open_client(c);
    if (kind == ANSWERED_ONCE || kind == KEPT_ALIVE) {
        ask(c, "/", 1);
        must(read_answer(c), "the first answer");
    }
    if (kind == SLOW_READER) {
        ask(c, big, 2);
        must(recv(c->fd, c->buffer, 1, MSG_PEEK) == 1, "the first byte");
    }
}

/* Then. */
static void ask_more(struct client *c, enum kind kind) {
    if (kind == UNACCEPTED) open_client(c);
    if (kind != KEPT_ALIVE) ask(c, "/", kind == PIPELINE ? PIPELINED : 1);
    if (kind == HALF_CLOSED) shutdown(c->fd, SHUT_WR);
}

/* True: every answer came, and then the end. */
static bool finish(struct client *c) {
    while (c->expected > 0 && read_answer(c)) {}
    bool right = c->expected == 0 && c->length == 0 && recv(c->fd, c->buffer, 1, 0) == 0;
    close(c->fd);
    return right;
}

int main(int argc, char **argv) {
    static struct client clients[ALL];
    unsigned failures = 0;
    if (argc != 4) return 2;
    port = (uint16_t)atoi(argv[1]);
    big = argv[3];
    alarm(60);
    pid_t server = (pid_t)atoi(argv[2]);
    for (unsigned i = 0; i < ALL; i++) prepare(&clients[i], (enum kind)(i % KINDS));
    must(kill(server, SIGSTOP) == 0, "stop");
    for (unsigned i = 0; i < ALL; i++) ask_more(&clients[i], (enum kind)(i % KINDS));
    must(kill(server, SIGTERM) == 0 && kill(server, SIGCONT) == 0, "kill");
    for (unsigned i = 0; i < ALL; i++) {
        enum kind kind = (enum kind)(i % KINDS);
        struct client *c = &clients[i];
        if (finish(c)) continue;
        fprintf(stderr, "%s: %u answers lost\n", names[kind], c->expected);
        failures++;
    }
    printf("%u connections, %u with answers lost\n", ALL, failures);
    return failures > 0 ? 1 : 0;
}
