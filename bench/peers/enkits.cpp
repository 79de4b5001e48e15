/* enkiTS (github.com/dougbinks/enkiTS): built when ENKITS names its sources. */
#include "peer.h"

#include <TaskScheduler.h>
#include <memory>
#include <vector>

static std::unique_ptr<enki::TaskScheduler> forks; /* the caller is one of its threads */
static std::unique_ptr<enki::TaskScheduler> pool;  /* the caller only pushes */

struct pushed : enki::ITaskSet {
    void (*fn)(void *);
    void *arg;
    void ExecuteRange(enki::TaskSetPartition, uint32_t) override { fn(arg); }
};

static std::vector<pushed> tasks;
static std::atomic<size_t> taken; /* each is used again long after it is done */

static void pool_start() {
    tasks = std::vector<pushed>(1 << 18);
    forks.reset(new enki::TaskScheduler);
    forks->Initialize(peer_workers);
    pool.reset(new enki::TaskScheduler);
    pool->Initialize(peer_workers + 1);
}

static void pool_stop() {
    forks->WaitforAllAndShutdown();
    pool->WaitforAllAndShutdown();
    forks.reset();
    pool.reset();
}

#define HAS_FORK
template <class F> static void enter(const F &f) {
    f();
}

template <class F> struct piece : enki::ITaskSet {
    const F *f;
    void ExecuteRange(enki::TaskSetPartition range, uint32_t) override {
        for (uint32_t i = range.start; i < range.end; i++) (*f)((int)i);
    }
};

template <class F> static void fork_all(int n, const F &f) {
    piece<F> task;
    task.f = &f;
    task.m_SetSize = (uint32_t)n;
    task.m_MinRange = 1;
    forks->AddTaskSetToPipe(&task);
    forks->WaitforTask(&task);
}

#define HAS_LOOP
template <class F> static void loop(long n, const F &f) {
    enki::TaskSet task((uint32_t)n, [&f](enki::TaskSetPartition range, uint32_t) {
        f((long)range.start, (long)range.end);
    });
    forks->AddTaskSetToPipe(&task);
    forks->WaitforTask(&task);
}

#define HAS_ASK
static void ask() {
    fork_all(1, [](int) {}); /* the caller takes part */
}

#define HAS_PUSH
#define HAS_ONE_PUSHER
static void push(void (*fn)(void *), void *arg) {
    pushed *task = &tasks[taken++ % tasks.size()];
    task->fn = fn;
    task->arg = arg;
    pool->AddTaskSetToPipe(task);
}

#include "groups.hpp"
