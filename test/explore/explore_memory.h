/* explore_memory.h - a part of explore.h: views, the heap, plain accesses. */
#ifndef EXPLORE_MEMORY_H
#define EXPLORE_MEMORY_H

/* ==========================================================================
 * >>view
 * ========================================================================== */

static inline void *explore_alloc_note(size_t size) {
    void *result = explore.notes + explore.noted;
    explore.noted += (size + 15) & ~(size_t)15;
    if (explore.noted > EXPLORE_NOTES) explore_fail("too many stores");
    return result;
}

/* Sizes are rounded up to 8, so that the compiler makes vectors of it. */
static inline void explore_join_times(explore_time *restrict into,
                                      const explore_time *restrict from, int size) {
    for (int i = 0; i < size; i += 8)
        for (int j = i; j < i + 8; j++) into[j] = into[j] > from[j] ? into[j] : from[j];
}

static inline int explore_view_size(void) {
    return (explore.words + 7) & ~7;
}

static inline explore_view *explore_view_make(const explore_time *times) {
    int size = explore_view_size();
    explore_view *view = explore_alloc_note(sizeof *view + (size_t)size * sizeof view->at[0]);
    view->size = size;
    memcpy(view->at, times, (size_t)size * sizeof view->at[0]);
    return view;
}

/* All that the running fiber knows, for others to learn; what it does later is not part of it. */
static inline const explore_view *explore_release(void) {
    explore_fiber *fiber = explore.running;
    explore_view *view = explore_view_make(fiber->view);
    view->fiber = explore_me();
    view->clock = fiber->view[view->fiber]++;
    return view;
}

/* A fiber that knows another one's clock knows all that this fiber knew then. */
static inline bool explore_covers(const explore_time *times, const explore_view *view) {
    return view->fiber >= 0 && times[view->fiber] >= view->clock;
}

static inline void explore_acquire(const explore_view *view) {
    explore_fiber *fiber = explore.running;
    if (!view || view == fiber->acquired || explore_covers(fiber->view, view)) return;
    explore_join_times(fiber->view, view->at, view->size);
    fiber->acquired = view;
}

static inline void explore_acquire_later(const explore_view *view) {
    explore_fiber *fiber = explore.running;
    if (!view || view == fiber->picked_up || view == fiber->acquired) return;
    if (explore_covers(fiber->view, view) || explore_covers(fiber->pending, view)) return;
    explore_join_times(fiber->pending, view->at, view->size);
    fiber->picked_up = view;
    fiber->has_pending = true;
}

static const explore_view *explore_mixture(const explore_view *one, const explore_view *two) {
    if (!one || !two || one == two) return one ? one : two;
    if (one->size < two->size) {
        const explore_view *swap = one;
        one = two;
        two = swap;
    }
    explore_view *view = explore_alloc_note(sizeof *view + (size_t)one->size * sizeof view->at[0]);
    memcpy(view, one, sizeof *view + (size_t)one->size * sizeof view->at[0]);
    explore_join_times(view->at, two->at, two->size);
    view->fiber = -1;
    return view;
}

/* ==========================================================================
 * >>heap: no memory is used twice in one execution, so that late accesses are seen
 * ========================================================================== */

static inline void *explore_malloc(size_t size) {
    if (explore.allocations_left == 0) return NULL;
    explore.allocations_left--;
    if (explore.blocks == EXPLORE_BLOCKS || explore.heaped + size + 64 > EXPLORE_HEAP)
        explore_fail("out of the model's memory");
    explore_block *block = &explore.block[explore.blocks++];
    char *memory = explore.heap + explore.heaped;
    memset(block, 0, sizeof *block);
    block->begin = (uintptr_t)memory;
    block->end = block->begin + size;
    block->alive = true;
    explore.heaped += (size + 79) & ~(size_t)63; /* at least 16 bytes that belong to nobody */
    memset(memory, EXPLORE_POISON, size);
    return memory;
}

static __attribute__((noinline)) int explore_find_block(uintptr_t address) {
    uintptr_t heap = (uintptr_t)explore.heap, stacks = (uintptr_t)explore.stacks;
    if (address - stacks < EXPLORE_FIBERS * EXPLORE_STACK)
        return ~(int)((address - stacks) / EXPLORE_STACK);
    if (address - heap >= EXPLORE_HEAP) return EXPLORE_GLOBAL;
    int low = 0, high = explore.blocks;
    while (low < high) {
        int middle = (low + high) / 2;
        if (address < explore.block[middle].end)
            high = middle;
        else
            low = middle + 1;
    }
    if (low == explore.blocks || address < explore.block[low].begin)
        explore_fail("access outside of any block: %p at %s", (void *)address, explore.running->at);
    return low;
}

/* The memory is alive; remembers its last user. */
static inline void explore_use(int block, uintptr_t address) {
    int me = explore_me();
    if (block == EXPLORE_GLOBAL || block == ~me) return;
    if (block < 0) {
        if (address < explore_context_top(&explore.fiber[~block].context))
            explore_fail("use of a dead frame of fiber %d at %s", ~block, explore.running->at);
        return;
    }
    if (!explore.block[block].alive)
        explore_fail("use after free: %p at %s", (void *)address, explore.running->at);
    explore.block[block].used[me] = explore.running->view[me];
}

static inline void explore_free(void *memory) {
    if (!memory) return;
    int i = explore_find_block((uintptr_t)memory);
    if (i < 0 || i == EXPLORE_GLOBAL || explore.block[i].begin != (uintptr_t)memory)
        explore_fail("free of memory that was not allocated: %p", memory);
    explore_block *block = &explore.block[i];
    if (!block->alive) explore_fail("double free: %p", memory);
    for (int other = 0; other < explore.fibers; other++)
        if (other != explore_me() && block->used[other] > explore.running->view[other])
            explore_fail("race: free of %p against its use by fiber %d", memory, other);
    block->alive = false;
}

/* ==========================================================================
 * >>plain: accesses that must be ordered
 * ========================================================================== */

static inline explore_place *explore_find_place(uintptr_t address) {
    size_t i = (size_t)((address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    for (;; i++) {
        explore_place *place = &explore.place[i & (EXPLORE_PLACES - 1)];
        if (place->execution == explore.execution && place->address == address) return place;
        if (place->execution == explore.execution) continue;
        memset(place, 0, sizeof *place);
        place->address = address;
        place->execution = explore.execution;
        place->block = explore_find_block(address);
        return place;
    }
}

/* Not a point: an unordered pair shows in the clocks, whatever ran first. */
static inline void *explore_plain(const volatile void *pointer, bool writes, const char *at) {
    int me = explore_me();
    explore_time *view = explore.running->view;
    explore_place *place = explore_find_place((uintptr_t)pointer);
    if (explore.ahead && ++explore.plain > 10 * EXPLORE_STEPS) explore_give_up();
    explore.running->at = at;
    if (explore.trace) explore_note("%s  %s", writes ? "set" : "get", at);
    explore_use(place->block, (uintptr_t)pointer);
    if (place->written > view[place->writer])
        explore_fail("race: %s after an unordered write by fiber %d at %s",
                     writes ? "write" : "read", place->writer, at);
    if (!writes) {
        place->read[me] = view[me];
        return (void *)(uintptr_t)pointer;
    }
    for (int i = 0; i < explore.fibers; i++)
        if (place->read[i] > view[i])
            explore_fail("race: write after an unordered read by fiber %d at %s", i, at);
    place->writer = me;
    place->written = view[me];
    return (void *)(uintptr_t)pointer;
}

#endif /* EXPLORE_MEMORY_H */
