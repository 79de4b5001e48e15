/* Dependencies: runs the commands of a file like a Makefile, each when what it needs is done.
 *     dag [-j commands at once] [file]          without a file: a small graph of its own
 *
 * A line "target: other ..." names what comes before; lines behind it that begin with a tab are its
 * commands. The first target is made, and all it needs. A failure stops what has not started.
 * (Unlike make it looks at no times, and knows neither variables nor patterns.) */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include <errno.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TARGETS_MAX = 4096, EDGES_MAX = 16384 };
enum visit { NOT_VISITED, BEING_VISITED, VISITED };

struct target {
    wsq_task task;
    char *name, *needs, *commands;
    enum visit visit;
    struct target *needed_by; /* while it is being visited */
};

static struct target targets[TARGETS_MAX];
static struct target *order[TARGETS_MAX]; /* each behind all that it needs */
static wsq_edge edges[EDGES_MAX];
static size_t target_count, ordered, edge_count;
static wsq_group group;
static atomic_uint made, skipped;
static double began;

static char own_graph[] = "all: test doc\n\techo all is well\n"
                          "program: main.o parse.o lex.o\n\tsleep 0.1\n"
                          "main.o:\n\tsleep 0.2\n"
                          "parse.o: lex.o\n\tsleep 0.2\n"
                          "lex.o:\n\tsleep 0.1\n"
                          "test: program\n\tsleep 0.1\n"
                          "doc: lex.o\n\tsleep 0.3\n";

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void give_up(const char *what, const char *name) {
    fprintf(stderr, "dag: %s%s\n", what, name);
    exit(2);
}

static void *need(void *memory) {
    if (!memory) give_up("no memory", "");
    return memory;
}

/* ---- what is to be done ---- */

static struct target *find(const char *name) {
    for (size_t i = 0; i < target_count; i++) {
        if (strcmp(targets[i].name, name) == 0) return &targets[i];
    }
    return NULL;
}

static void add_command(struct target *target, const char *line) {
    size_t length = target->commands ? strlen(target->commands) : 0;
    target->commands = need(realloc(target->commands, length + strlen(line) + 1));
    strcpy(target->commands + length, line);
}

static void add_target(char *line) {
    char *colon = strchr(line, ':'), *name = strtok(line, " \t\n:");
    if (!name) return;
    if (!colon) give_up("no colon behind ", name);
    if (find(name)) give_up("two rules make ", name);
    if (target_count == TARGETS_MAX) give_up("too many targets: ", name);
    struct target *target = &targets[target_count++];
    target->name = need(strdup(name));
    target->needs = need(strdup(colon + 1));
}

static void read_graph(FILE *file) {
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, file) >= 0) {
        if (*line == '\t' && target_count > 0) add_command(&targets[target_count - 1], line + 1);
        else if (*line != '#') add_target(line);
    }
    free(line);
    if (target_count == 0) give_up("no targets", "");
}

static void give_up_cycle(const struct target *target) {
    fprintf(stderr, "dag: a cycle: %s", target->name);
    for (const struct target *t = target->needed_by; t; t = t == target ? NULL : t->needed_by)
        fprintf(stderr, " is needed by %s", t->name);
    fprintf(stderr, "\n");
    exit(2);
}

/* Says what comes after what, before anything is spawned. */
static void visit(struct target *target) {
    char *rest, *name = strtok_r(target->needs, " \t\n", &rest);
    target->visit = BEING_VISITED;
    for (; name; name = strtok_r(NULL, " \t\n", &rest)) {
        struct target *other = find(name);
        if (!other && access(name, F_OK) == 0) continue; /* a file that nobody has to make */
        if (!other) give_up("nothing makes ", name);
        bool is_cycle = other->visit == BEING_VISITED;
        if (other->visit != VISITED) other->needed_by = target;
        if (is_cycle) give_up_cycle(other);
        if (other->visit == NOT_VISITED) visit(other);
        if (edge_count == EDGES_MAX) give_up("too many needs: ", target->name);
        wsq_task_after(&target->task, &other->task, &edges[edge_count++]);
    }
    target->visit = VISITED;
    order[ordered++] = target;
}

/* ---- doing it ---- */

/* 0, or what went wrong. */
static int run_shell(const char *commands) {
    extern char **environ;
    char *arguments[] = {(char[]){"sh"}, (char[]){"-ec"}, (char *)(uintptr_t)commands, NULL};
    pid_t child;
    int status, error = posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ);
    if (error != 0) return error;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) return errno;
    }
    return status;
}

static wsq_poll make(wsq_ctx ctx, wsq_task *task) {
    struct target *self = wsq_container_of(task, struct target, task);
    double start = now() - began;
    wsq_block_begin(ctx); /* from here on another thread works in this one's place */
    int failure = self->commands ? run_shell(self->commands) : 0;
    wsq_block_end(ctx);
    printf("%5.2f to %.2f s, worker %u: %s%s\n", start, now() - began, wsq_worker_index(ctx),
           self->name, failure ? " FAILED" : "");
    if (failure) {
        wsq_group_fail(&group, failure);
        wsq_group_cancel(&group);
    }
    atomic_fetch_add(&made, 1);
    return WSQ_DONE;
}

static wsq_poll skip(wsq_task *task) {
    (void)task;
    atomic_fetch_add(&skipped, 1);
    return WSQ_DONE;
}

/* One worker, and a stand-in for each further command: no more commands than threads. */
static void make_all(unsigned jobs) {
    wsq_config config = {.workers = 1,
                         .max_standins = jobs > 1 ? jobs - 1 : WSQ_STANDINS_OFF};
    wsq_pool *pool;
    if (wsq_pool_create(&pool, &config) != WSQ_OK) give_up("no pool", "");
    wsq_group_init(&group, pool);
    began = now();
    /* In order: once the group is cancelled it takes no more tasks, and one that has been taken
     * would wait for ever for one that was not. */
    for (size_t i = 0; i < ordered; i++) {
        if (wsq_group_spawn(&group, &order[i]->task) != WSQ_OK) skip(&order[i]->task);
    }
    wsq_group_wait(&group);
    wsq_pool_destroy(pool);
    printf("%u made, %u skipped, %.2f s\n", made, skipped, now() - began);
}

int main(int argc, char **argv) {
    int jobs = 4;
    for (int option; (option = getopt(argc, argv, "j:")) != -1;) {
        jobs = option == 'j' ? atoi(optarg) : 0;
    }
    if (jobs < 1 || jobs > 256 || argc - optind > 1)
        give_up("usage: dag [-j commands at once] [file]", "");
    const char *path = argv[optind];
    FILE *file = path ? fopen(path, "r") : fmemopen(own_graph, sizeof own_graph - 1, "r");
    if (!file) give_up(path, ": cannot be read");
    read_graph(file);
    fclose(file);
    for (size_t i = 0; i < target_count; i++) {
        wsq_task_init(&targets[i].task, make);
        wsq_task_set_cleanup(&targets[i].task, skip);
    }
    visit(&targets[0]);
    make_all((unsigned)jobs);
    return wsq_group_error(&group) ? 1 : 0;
}
