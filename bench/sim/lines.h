/* lines.h - cache lines of 64 bytes: which core has one, and what it costs another to get it.
 *
 *   - A core alone has a line, or any number of cores have copies that they only read. What a core
 *     has costs it an access; nothing is ever evicted.
 *   - What it has not is brought from the nearest core that has it, or from memory. Half of the way
 *     is the request's, half the answer's: until the request arrives, the core that has the line works on.
 *   - Where the machine has `home`, a line that is at home in the other socket comes by way of it.
 *   - A line moves to one core at a time; others that ask for it are served in turn. Readers of a line
 *     that is shared already follow one another more quickly.
 *   - A write takes the line from all others: as long as the way to the furthest of them.
 *   - A store waits for its line in the store buffer, its core does not; a read-modify-write or a
 *     fence does, for all stores before it.
 *   - A core that fetches lines in order gets the third and later ones ahead of time.
 *   - Loads of atomics that miss one behind the other have several lines on the way at once: from
 *     the third on each costs a part of its way. A look at many queues is such a row; following
 *     pointers in plain memory is not, and read-modify-writes, fences, pauses and work end it.
 *
 * What was lost on each line is kept, with the expression that waited longest. */
#ifndef SIM_LINES_H
#define SIM_LINES_H

#include "engine.h"

typedef enum sim_kind {
    SIM_READ,   /* an atomic load */
    SIM_FOLLOW, /* a plain one, of what may be a pointer */
    SIM_WRITE,
    SIM_RMW
} sim_kind;

/* Where in the program a line was touched. */
typedef struct sim_site {
    const char *what, *function;
} sim_site;

/* What was lost on a line: on the way, and while it was on its way to others. */
typedef struct sim_hot {
    uintptr_t line;
    uint64_t transfer, queue, times;
    const sim_site *site; /* of the most by a vote: Boyer and Moore's */
    int64_t votes;
} sim_hot;

enum { SIM_NOBODY = -1, SIM_SHARED = -2 };

typedef struct sim_line {
    int owner;         /* a core, SIM_NOBODY, or SIM_SHARED */
    uint32_t hot;      /* 0: nothing was lost on it */
    uint64_t free_at;  /* when it can move on */
    uint64_t *sharers; /* a bit for each core */
    uint16_t first, last; /* 1 + number of the cores that wait for it; 0: none */
    uint16_t home;        /* the socket that touched its page first */
} sim_line;

enum { SIM_PAGE_LINES = 64 }; /* pages of 4 KiB */

typedef struct sim_page {
    uintptr_t page; /* its number + 1; 0: free */
    sim_line *lines;
} sim_page;

SIM_STATE struct sim_cached {
    sim_page *pages; /* open addressing */
    size_t capacity, used;
    sim_hot *hots;
    size_t hot_count, hot_capacity;
    uint64_t **free_sharers; /* a stack of sets that no line uses */
    size_t free_count, free_capacity;
    size_t words;           /* of each */
    void *chunks[4096];     /* what was allocated, until the next machine */
    size_t chunk_count, chunk_left;
    char *chunk;
} sim_cache;

static void sim_grow(void **array, size_t *capacity, size_t size) {
    *capacity = *capacity != 0 ? 2 * *capacity : 1024;
    *array = realloc(*array, *capacity * size);
    if (*array == NULL) sim_fail("no memory");
}

static void *sim_chunk(size_t size) {
    const size_t chunk = (size_t)1 << 20;
    if (sim_cache.chunk_left < size) {
        if (sim_cache.chunk_count == sizeof sim_cache.chunks / sizeof *sim_cache.chunks)
            sim_fail("too many lines");
        sim_cache.chunk = (char *)calloc(1, chunk);
        if (sim_cache.chunk == NULL) sim_fail("no memory");
        sim_cache.chunks[sim_cache.chunk_count++] = sim_cache.chunk;
        sim_cache.chunk_left = chunk;
    }
    sim_cache.chunk_left -= size;
    return sim_cache.chunk + sim_cache.chunk_left;
}

static void sim_lines_reset(void) {
    for (size_t i = 0; i < sim_cache.chunk_count; i++) free(sim_cache.chunks[i]);
    sim_cache.chunk_count = sim_cache.chunk_left = 0;
    free(sim_cache.pages);
    sim_cache.capacity = 1024;
    sim_cache.used = 0;
    sim_cache.pages = (sim_page *)calloc(sim_cache.capacity, sizeof *sim_cache.pages);
    if (sim_cache.pages == NULL) sim_fail("no memory");
    sim_cache.hot_count = 1; /* 0 means none */
    sim_cache.free_count = 0;
    sim_cache.words = (sim.machine->cores + SIM_OUTSIDE + 63) / 64;
}

static inline size_t sim_page_hash(uintptr_t page) {
    return (size_t)((uint64_t)page * 0x9E3779B97F4A7C15u >> 32) & (sim_cache.capacity - 1);
}

static sim_page *sim_page_slot(uintptr_t page) {
    size_t i = sim_page_hash(page);
    while (sim_cache.pages[i].page != 0 && sim_cache.pages[i].page != page + 1)
        i = (i + 1) & (sim_cache.capacity - 1);
    return &sim_cache.pages[i];
}

static void sim_pages_grow(void) {
    sim_page *former = sim_cache.pages;
    size_t count = sim_cache.capacity;
    sim_cache.capacity *= 2;
    sim_cache.pages = (sim_page *)calloc(sim_cache.capacity, sizeof *sim_cache.pages);
    if (sim_cache.pages == NULL) sim_fail("no memory");
    for (size_t i = 0; i < count; i++)
        if (former[i].page != 0) *sim_page_slot(former[i].page - 1) = former[i];
    free(former);
}

static __attribute__((noinline)) sim_line *sim_page_new(uintptr_t page) {
    if (2 * ++sim_cache.used > sim_cache.capacity) sim_pages_grow();
    sim_page *slot = sim_page_slot(page);
    slot->page = page + 1;
    slot->lines = (sim_line *)sim_chunk(SIM_PAGE_LINES * sizeof *slot->lines);
    for (int i = 0; i < SIM_PAGE_LINES; i++) {
        slot->lines[i].owner = SIM_NOBODY;
        slot->lines[i].home = (uint16_t)sim.running->socket;
    }
    return slot->lines;
}

static inline sim_line *sim_line_at(const void *p) {
    uintptr_t page = (uintptr_t)p >> 12;
    sim_page *slot = &sim_cache.pages[sim_page_hash(page)];
    sim_line *array = slot->lines;
    if (__builtin_expect(slot->page != page + 1, 0)) {
        slot = sim_page_slot(page);
        array = slot->page != 0 ? slot->lines : sim_page_new(page);
    }
    return &array[((uintptr_t)p >> 6) % SIM_PAGE_LINES];
}

/* ---- copies ---- */

static inline bool sim_shares(const sim_line *line, unsigned id) {
    return (line->sharers[id / 64] >> (id % 64) & 1) != 0;
}

static void sim_share(sim_line *line, unsigned id) {
    if (line->owner != SIM_SHARED) {
        uint64_t *sharers = sim_cache.free_count > 0
                                ? sim_cache.free_sharers[--sim_cache.free_count]
                                : (uint64_t *)sim_chunk(sim_cache.words * sizeof *sharers);
        memset(sharers, 0, sim_cache.words * sizeof *sharers);
        line->sharers = sharers;
        sharers[line->owner / 64] |= (uint64_t)1 << (line->owner % 64);
        line->owner = SIM_SHARED;
    }
    line->sharers[id / 64] |= (uint64_t)1 << (id % 64);
}

static void sim_own(sim_line *line, unsigned id) {
    if (line->owner == SIM_SHARED) {
        if (sim_cache.free_count == sim_cache.free_capacity)
            sim_grow((void **)&sim_cache.free_sharers, &sim_cache.free_capacity,
                     sizeof(uint64_t *));
        sim_cache.free_sharers[sim_cache.free_count++] = line->sharers;
    }
    line->owner = (int)id;
}

static inline int sim_distance(const sim_core *one, const sim_core *two) {
    return one->cluster == two->cluster ? 0 : one->socket == two->socket ? 1 : 2;
}

/* How far the nearest other copy of a shared line is, or the furthest; -1: there is none. */
static int sim_copy_distance(const sim_line *line, const sim_core *core, bool furthest) {
    int best = -1;
    for (size_t w = 0; w < sim_cache.words; w++) {
        for (uint64_t bits = line->sharers[w]; bits != 0; bits &= bits - 1) {
            unsigned id = (unsigned)(w * 64) + (unsigned)__builtin_ctzll(bits);
            if (id == core->id) continue;
            int distance = sim_distance(core, &sim.cores[id]);
            if (best < 0 || (furthest ? distance > best : distance < best)) best = distance;
            if (best == (furthest ? 2 : 0)) return best;
        }
    }
    return best;
}

/* ---- what a miss costs ---- */

static sim_hot *sim_hot_of(sim_line *line, const void *p) {
    if (line->hot == 0) {
        if (sim_cache.hot_count >= sim_cache.hot_capacity)
            sim_grow((void **)&sim_cache.hots, &sim_cache.hot_capacity, sizeof(sim_hot));
        line->hot = (uint32_t)sim_cache.hot_count++;
        sim_cache.hots[line->hot] = (sim_hot){.line = (uintptr_t)p >> 6};
    }
    return &sim_cache.hots[line->hot];
}

static void sim_lose(sim_line *line, const void *p, const sim_site *site, uint64_t transfer,
                     uint64_t queue) {
    sim_hot *hot = sim_hot_of(line, p);
    int64_t weight = (int64_t)(transfer + queue);
    hot->transfer += transfer;
    hot->queue += queue;
    hot->times++;
    if (hot->site == site || hot->site == NULL) {
        hot->votes += weight;
        hot->site = site;
    } else if ((hot->votes -= weight) < 0) {
        hot->votes = -hot->votes;
        hot->site = site;
    }
}

/* Is this line the third or later one of a sequence that the core fetches? */
static bool sim_streams(sim_core *core, const void *p) {
    uintptr_t line = (uintptr_t)p >> 6;
    sim_stream *oldest = core->streams;
    core->stream_age++;
    for (int i = 0; i < SIM_STREAMS; i++) {
        sim_stream *stream = &core->streams[i];
        if (stream->line + 1 == line) {
            stream->line = line;
            stream->age = core->stream_age;
            return ++stream->length >= 3;
        }
        if (stream->age < oldest->age) oldest = stream;
    }
    *oldest = (sim_stream){line, 1, core->stream_age};
    return false;
}

/* The time of the way, and for how long nobody else gets the line. */
static uint64_t sim_way(sim_core *core, sim_line *line, const void *p, sim_kind kind,
                        uint64_t *occupied) {
    bool ahead = sim_streams(core, p);
    uint64_t way;
    if (line->owner == SIM_NOBODY) {
        way = sim.price.memory;
    } else {
        int distance = line->owner >= 0 ? sim_distance(core, &sim.cores[line->owner])
                                        : sim_copy_distance(line, core, kind > SIM_FOLLOW);
        bool away = sim.machine->home && line->home != core->socket;
        if (distance == 1 && away) distance = 2;
        way = distance < 0 ? sim.price.access : sim.price.transfer[distance];
    }
    if (ahead && way > sim.price.stream) way = sim.price.stream;
    *occupied = line->owner == SIM_SHARED && kind <= SIM_FOLLOW ? sim.price.share : way;
    if (kind != SIM_READ) return way;
    return ++core->row < 3 ? way : way / sim.price.overlap;
}

/* Waits until the core's stores are in its cache. */
static inline void sim_drain(sim_core *core) {
    if (core->drained <= core->clock) return;
    core->drain += core->drained - core->clock;
    core->clock = core->drained;
}

/* Waits until the line can move, and the cores that came before have been served. */
static void sim_queue(sim_line *line) {
    sim_core *core = sim.running;
    if (line->first == 0 && line->free_at <= core->clock) return;
    uint64_t asked = core->clock;
    uint16_t name = (uint16_t)(core->id + 1);
    core->wait_next = 0;
    if (line->first == 0) line->first = name;
    else sim.cores[line->last - 1].wait_next = name;
    line->last = name;
    /* A core that is not the first is told when it is. */
    sim_tree_set(core->id, line->first == name ? sim_key(core, line->free_at) : SIM_NEVER);
    sim_next();
    while (core->clock < line->free_at) { /* again when a store has moved it meanwhile */
        core->clock = line->free_at;
        sim_turn();
    }
    line->first = core->wait_next;
    core->queue += core->clock - asked;
}

/* The line goes on its way now; the next in turn follows when it has been there. */
static void sim_depart(sim_line *line, uint64_t occupied) {
    line->free_at = sim.running->clock + occupied;
    if (line->first == 0) return;
    sim_core *next = &sim.cores[line->first - 1];
    sim_tree_set(next->id, sim_key(next, line->free_at));
    sim_horizon_update();
}

static void sim_take(sim_line *line, sim_kind kind) {
    unsigned id = sim.running->id;
    if (kind > SIM_FOLLOW) sim_own(line, id);
    else if (line->owner == SIM_NOBODY) line->owner = (int)id;
    else sim_share(line, id);
}

/* A store: the core goes on, unless its buffer is full. So the line changes hands at once, and the
 * next core that wants it waits for as long as this takes. */
static void sim_store_miss(sim_line *line, const void *p, const sim_site *site) {
    sim_core *core = sim.running;
    uint64_t occupied, begin = core->clock > line->free_at ? core->clock : line->free_at;
    uint64_t done = begin + sim_way(core, line, p, SIM_WRITE, &occupied);
    line->free_at = done;
    sim_take(line, SIM_WRITE);
    if (done > core->drained) core->drained = done;
    if (done <= core->clock + sim.price.buffer) return;
    uint64_t late = done - core->clock - sim.price.buffer;
    sim_lose(line, p, site, 0, late);
    core->queue += late;
    core->clock += late;
}

static __attribute__((noinline)) void sim_miss(const void *p, sim_kind kind,
                                               const sim_site *site) {
    sim_core *core = sim.running;
    uint64_t occupied;
    if (kind == SIM_FOLLOW) core->row = 0;
    sim_turn(); /* first the cores that are behind, and may want it, too */
    sim_line *line = sim_line_at(p);
    if (kind == SIM_WRITE) {
        sim_store_miss(line, p, site);
        return;
    }
    uint64_t asked = core->clock;
    sim_queue(line);
    uint64_t begin = core->clock, way = sim_way(core, line, p, kind, &occupied);
    sim_depart(line, occupied);
    core->clock = begin + way / 2;
    sim_turn(); /* until the request arrives */
    sim_take(line, kind);
    core->clock = begin + way;
    core->transfer += way;
    sim_lose(line, p, site, way, begin - asked);
}

/* A processor may take a thread off its core between any two accesses. A program that defines
 * SIM_STALLS chooses when: the core whose access brings sim_stall.left to 0 loses that time. */
#ifdef SIM_STALLS
static struct {
    uint64_t left; /* accesses until then; 0: never */
    uint64_t ns;   /* how long it lasts */
    unsigned only; /* 1 + number of the core whose accesses count; 0: all of them */
    void (*tell)(sim_core *core, uint64_t until_ns); /* NULL, or a function that wants to know */
    uint64_t accesses; /* so far */
} sim_stall;

static __attribute__((noinline)) void sim_stall_now(void) {
    sim_core *core = sim.running;
    core->clock += sim_stall.ns * 1000;
    if (sim_stall.tell != NULL) sim_stall.tell(core, core->clock / 1000);
    if (core->clock > sim.horizon) sim_switch();
}

static inline void sim_stall_count(void) {
    sim_stall.accesses++;
    if (sim_stall.only != 0 && sim_stall.only != sim.running->id + 1) return;
    if (sim_stall.left != 0 && --sim_stall.left == 0) sim_stall_now();
}
#else
static inline void sim_stall_count(void) {}
#endif

/* An access to memory that others may share. When it returns nobody else runs before the caller's
 * next one. */
static inline __attribute__((always_inline)) void sim_access(const void *p, sim_kind kind,
                                                             const sim_site *site) {
    sim_core *core = sim.running;
    sim_stall_count();
    SIM_EVENT();
    if (kind == SIM_RMW) {
        sim_drain(core);
        core->row = 0;
    }
    if (__builtin_expect(core->clock > sim.limit, 0)) sim_switch();
    sim_line *line = sim_line_at(p);
    bool here = line->owner == (int)core->id;
    if (kind <= SIM_FOLLOW && !here) here = line->owner == SIM_SHARED && sim_shares(line, core->id);
    if (__builtin_expect(!here, 0)) sim_miss(p, kind, site);
    core->clock += kind == SIM_RMW ? sim.price.rmw : sim.price.access;
    SIM_EVENT_END();
}

/* A workload's own data. */
static inline void sim_touch(const void *p, size_t size, sim_kind kind, const sim_site *site) {
    const char *at = (const char *)p, *end = at + size;
    for (; at < end; at = (const char *)(((uintptr_t)at | 63) + 1)) sim_access(at, kind, site);
}

#endif /* SIM_LINES_H */
