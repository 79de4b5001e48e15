#ifndef WSQ_STATIC
#define WSQ_IMPLEMENTATION
#else
#define WSQ_IMPLEMENTATION
#endif
#include HDR
static wsq_poll run(wsq_ctx ctx, wsq_task *task) { (void)ctx; (void)task; return WSQ_DONE; }
int main(void) { wsq_pool *pool; static wsq_task t; if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1; wsq_task_init(&t, run); wsq_spawn(pool, &t); wsq_task_wait(&t); wsq_pool_destroy(pool); return 0; }
