/* platform_none.h - a platform without threads, clock or anything: caller_runs pools work on it.
 *
 *     #define WSQ_PLATFORM_HEADER "test/port/platform_none.h" */
#ifndef PLATFORM_NONE_H
#define PLATFORM_NONE_H

static wsqi_worker *wsqi_self;
static inline wsqi_worker *wsqi_self_get(void) { return wsqi_self; }
static inline void wsqi_self_set(wsqi_worker *self) { wsqi_self = self; }

static inline uint64_t wsqi_clock_ns(void) { return 0; }
static inline unsigned wsqi_cpu_count(void) { return 1; }

typedef struct wsqi_parking { char unused; } wsqi_parking;
typedef struct wsqi_thread { char unused; } wsqi_thread;

#define wsqi_parking_init(parking) ((parking)->unused = 0, true)
#define wsqi_parking_fini(parking) ((void)(parking))
#define wsqi_parking_wait(parking, word, expected, timeout_ns) \
    ((void)(parking), (void)(word), (void)(expected), (void)(timeout_ns))
#define wsqi_parking_wake(parking, word, all) ((void)(parking), (void)(word), (void)(all))
#define wsqi_thread_start(thread, fn, arg, stack_size, name) \
    ((void)(thread), (void)(fn), (void)(arg), (void)(stack_size), (void)(name), false)
#define wsqi_thread_join(thread) ((void)(thread))

#endif /* PLATFORM_NONE_H */
