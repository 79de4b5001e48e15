/* What one pass of a thief over the other workers reads and visits. */
#include "exact.h"

static uint32_t node_of(unsigned worker, void *user) { return (void)user, worker << 16; }

/* Where distances matter, a pass has three rounds, and reads three numbers: no memory follows them here. */
static void rounds_of_a_pass(void) {
    static const wsq_topology nodes = {node_of, NULL};
    wsq_pool *pool = pool_make(&(wsq_config){.caller_runs = true, .workers = 3, .topology = &nodes});
    char *pages = (char *)sim_map((uintptr_t)5 << 44, 2 << 16);
    uint32_t *from = (uint32_t *)(void *)(pages + (1 << 16)) - 3;
    wsq_task *task = NULL;
    CHECK_EQ(munmap(pages + (1 << 16), 1 << 16), 0);
    CHECK(!wsqi_steal_pass(wsqi_block(pool, 0), WSQI_TASKS, from, &task));
    wsq_pool_destroy(pool);
}

int main(void) {
    test_begin("exact_passes");
    IN_WORLD(rounds_of_a_pass);
    return test_end();
}
