/* A small make: runs the commands of a file like a Makefile, each as soon as its prerequisites are
 * made.
 *     cc -O2 -pthread dag.c -o dag && ./dag
 *
 * A line "target: other ..." names a target and its prerequisites; the lines after it that begin
 * with a tab are its commands. The program makes the first target, and all that it needs. After a
 * failure it starts nothing that depends on it. (Unlike make it does not look at times, and knows
 * neither variables nor patterns.) */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "command.h"

enum { TARGETS_MAX = 4096, EDGES_MAX = 16384, COMMANDS_MAX = 16384 };
enum visit { NOT_VISITED, BEING_VISITED, VISITED };

struct target {
    wsq_node node;
    char *name, *needs;
    size_t first, end; /* its commands */
    enum visit visit;
    struct target *needed_by; /* while it is being visited */
};

static struct target targets[TARGETS_MAX];
static char *commands[COMMANDS_MAX];
static wsq_edge edges[EDGES_MAX];
static size_t target_count, edge_count, command_count;
static wsq_graph graph;
static atomic_uint made, skipped;
static double began;

#ifdef _WIN32
#define A_WHILE "ping -n 2 127.0.0.1 >nul"
#else
#define A_WHILE "sleep 0.2"
#endif

static char own_graph[] = "all: test doc\n\techo all is well\n"
                          "program: main.o parse.o lex.o\n\t" A_WHILE "\n"
                          "main.o:\n\t" A_WHILE "\n"
                          "parse.o: lex.o\n\t" A_WHILE "\n"
                          "lex.o:\n\t" A_WHILE "\n"
                          "test: program\n\t" A_WHILE "\n"
                          "doc: lex.o\n\t" A_WHILE "\n";

static void give_up(const char *what, const char *name) {
    fprintf(stderr, "dag: %s%s\n", what, name);
    exit(2);
}

/* ---- what is to be done ---- */

static struct target *find(const char *name) {
    for (size_t i = 0; i < target_count; i++) {
        if (strcmp(targets[i].name, name) == 0) return &targets[i];
    }
    return NULL;
}

static void add_command(struct target *target, char *line) {
    if (command_count == COMMANDS_MAX) give_up("too many commands: ", line);
    commands[command_count++] = line;
    target->end = command_count;
}

static void add_target(char *line) {
    char *colon = strchr(line, ':'), *rest, *name = strtok_r(line, " \t:", &rest);
    if (!name) return;
    if (!colon) give_up("no colon behind ", name);
    if (find(name)) give_up("two rules make ", name);
    if (target_count == TARGETS_MAX) give_up("too many targets: ", name);
    struct target *target = &targets[target_count++];
    *target = (struct target){.name = name, .needs = colon + 1};
    target->first = target->end = command_count;
}

/* Everything points into the text, line by line. */
static void read_graph(char *text) {
    char *rest, *line = strtok_r(text, "\r\n", &rest);
    for (; line; line = strtok_r(NULL, "\r\n", &rest)) {
        if (*line == '\t' && target_count > 0) add_command(&targets[target_count - 1], line + 1);
        else if (*line != '#') add_target(line);
    }
    if (target_count == 0) give_up("no targets", "");
}

static char *text_of(const char *path) {
    FILE *file = fopen(path, "r");
    size_t size = 0, room = 1 << 20; /* no graph needs more */
    char *text = malloc(room);
    if (text && file) size = fread(text, 1, room, file);
    if (!text || !file || ferror(file)) give_up(path, ": cannot be read");
    if (size == room) give_up(path, ": is too long");
    text[size] = '\0';
    fclose(file);
    return text;
}

static void give_up_cycle(const struct target *target) {
    fprintf(stderr, "dag: a cycle: %s", target->name);
    for (const struct target *t = target->needed_by; t; t = t == target ? NULL : t->needed_by)
        fprintf(stderr, " is needed by %s", t->name);
    fprintf(stderr, "\n");
    exit(2);
}

static wsq_poll make(wsq_ctx ctx, wsq_task *task);
static wsq_poll skip(wsq_task *task);

/* Adds the target, and what it needs, to the graph. (wsq_graph_run finds circles, too, but cannot
 * say which.) */
static void visit(struct target *target) {
    char *rest, *name = strtok_r(target->needs, " \t", &rest);
    target->visit = BEING_VISITED;
    wsq_graph_add(&graph, &target->node, make);
    wsq_task_set_cleanup(&target->node.task, skip);
    for (; name; name = strtok_r(NULL, " \t", &rest)) {
        struct target *other = find(name);
        if (!other && access(name, F_OK) == 0) continue; /* a file that nobody has to make */
        if (!other) give_up("nothing makes ", name);
        bool is_cycle = other->visit == BEING_VISITED;
        if (other->visit != VISITED) other->needed_by = target;
        if (is_cycle) give_up_cycle(other);
        if (other->visit == NOT_VISITED) visit(other);
        if (edge_count == EDGES_MAX) give_up("too many needs: ", target->name);
        wsq_node_after(&target->node, &other->node, &edges[edge_count++]);
    }
    target->visit = VISITED;
}

/* ---- doing it ---- */

static wsq_poll make(wsq_ctx ctx, wsq_task *task) {
    struct target *self = wsq_container_of(task, struct target, node.task);
    double start = command_now() - began;
    int failure = 0;
    wsq_block_begin(ctx); /* from here on another thread works in this one's place */
    for (size_t i = self->first; i < self->end && failure == 0; i++) failure = system(commands[i]);
    wsq_block_end(ctx);
    printf("%5.2f to %.2f s, worker %u: %s%s\n", start, command_now() - began,
           wsq_worker_index(ctx), self->name, failure ? " FAILED" : "");
    if (failure) {
        wsq_group_fail(&graph.group, failure);
        wsq_group_cancel(&graph.group);
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
static wsq_pool *pool_for(unsigned jobs) {
    wsq_config config = {.workers = 1,
                         .max_standins = jobs > 1 ? jobs - 1 : WSQ_STANDINS_OFF};
    wsq_pool *pool;
    if (wsq_pool_create(&pool, &config) != WSQ_OK) give_up("no pool", "");
    return pool;
}

static const char help[] =
    "dag [-j commands] [file]\n"
    "Makes the first target of the file, and what it needs; without a file, a small example.\n"
    "  -j  commands that run at the same time, 1 to 256 (4)\n";

int main(int argc, char **argv) {
    unsigned jobs = 4;
    while (command_option(argc, argv, "j:", help)) {
        jobs = command_number("-j", command.value, 1, 256);
    }
    const char *path = command_next(argc, argv);
    command_end(argc, argv);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* in order with what the commands print */
    read_graph(path ? text_of(path) : own_graph);
    wsq_pool *pool = pool_for(jobs);
    wsq_graph_init(&graph, pool);
    visit(&targets[0]);
    began = command_now();
    if (wsq_graph_run(&graph) != WSQ_OK) give_up("no run", "");
    wsq_group_wait(&graph.group);
    wsq_pool_destroy(pool);
    printf("%u made, %u skipped, %.2f s\n", made, skipped, command_now() - began);
    return wsq_group_error(&graph.group) ? 1 : 0;
}
