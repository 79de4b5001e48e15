/* The deque in the explorer: growth, the last item, thieves against each other and the owner. */
#include "explore.h"
#define WSQ_STATIC
#define WSQ_IMPLEMENTATION
#include "../../wsq.h"

enum { ITEMS = 16 };

typedef struct item {
    int number; /* written before the push: the thread that has the item must see it */
    int taken;  /* the explorer's own count: no access of the program */
} item;

static item items[ITEMS];
static int made;
static wsq_deque deque;

static void begin(size_t capacity) {
    memset(items, 0, sizeof items);
    made = 0;
    explore_check(wsq_deque_init(&deque, capacity) == WSQ_OK);
}

static void push(void) {
    explore_check(made < ITEMS);
    item *it = &items[made++];
    wsqi_set(&it->number, made);
    explore_check(wsq_deque_push(&deque, it) == WSQ_OK);
}

static int take(void *taken) {
    item *it = taken;
    explore_check(it >= items && it < items + made);
    explore_check(wsqi_get(&it->number) == it - items + 1);
    explore_check(it->taken == 0);
    it->taken = 1;
    return (int)(it - items + 1);
}

/* Last in, first out: nothing newer is left behind. */
static bool pop(void) {
    void *it = wsq_deque_pop(&deque);
    if (!it) return false;
    for (int i = take(it); i < made; i++) explore_check(items[i].taken);
    return true;
}

static wsq_steal steal(void) {
    void *it = NULL;
    wsq_steal result = wsq_deque_steal(&deque, &it);
    if (result == WSQ_STEAL_OK) take(it);
    return result;
}

/* Everybody is joined. */
static void end(void) {
    explore_check(wsq_deque_length(&deque) <= ITEMS);
    while (pop()) {}
    explore_check(wsq_deque_length(&deque) == 0);
    explore_check(steal() == WSQ_STEAL_EMPTY);
    for (int i = 0; i < made; i++) explore_check(items[i].taken);
    wsq_deque_fini(&deque);
}

static void thief(void *arg) {
    for (int i = *(int *)arg; i > 0; i--) steal();
}

static int one = 1, two = 2, three = 3;

/* Pushes and pops in any order. */
static void owner(int steps) {
    while (steps-- > 0) {
        if (explore_choose(5) < 3) push();
        else pop();
    }
}

static void one_thief(void) {
    begin(1u << explore_choose(3));
    explore_start(thief, &three);
    owner(8);
    explore_join();
    end();
}

static void two_thieves(void) {
    begin(1u << explore_choose(3));
    explore_start(thief, &two);
    explore_start(thief, &three);
    owner(8);
    explore_join();
    end();
}

/* The thieves know of every item, and there are enough: none may find the deque empty. */
static void sure_thief(void *arg) {
    (void)arg;
    explore_check(steal() != WSQ_STEAL_EMPTY);
}

static void never_empty(void) {
    begin(2);
    push();
    push();
    push();
    push();
    explore_start(sure_thief, NULL);
    explore_start(sure_thief, NULL);
    explore_start(sure_thief, NULL);
    pop();
    push();
    explore_join();
    end();
}

static void last_item(void) {
    begin(1);
    push();
    explore_start(thief, &one);
    explore_start(thief, &one);
    pop();
    push();
    pop();
    explore_join();
    end();
}

static void growth(void) {
    begin(1);
    push();
    explore_start(thief, &two);
    push();
    push();
    pop();
    explore_join();
    end();
}

int main(void) {
    explore_random("deque: owner and thief", one_thief, 250000);
    explore_random("deque: owner and two thieves", two_thieves, 250000);
    explore_random("deque: never empty", never_empty, 200000);
    explore_exhaust("deque: the last item", last_item, 5);
    explore_exhaust("deque: growth under theft", growth, 5);
    return explore_end();
}
