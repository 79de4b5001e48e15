/* Concurrency Kit's ring, with one consumer and one producer (spsc) and with many (mpmc). */
#include "work.h"

#include <ck_ring.h>

static ck_ring_t ring;
static ck_ring_buffer_t *buffer;

static void start(void) {
    buffer = calloc(1024, sizeof *buffer);
    peer_check(buffer != NULL, "memory");
    ck_ring_init(&ring, 1024);
}

static void stop(void) {
    free(buffer);
}

static peer_result run_fifo(long size) {
    int item = 0;
    void *out;
    double begin = peer_now();
    for (long i = 0; i < size; i++) {
        ck_ring_enqueue_mpmc(&ring, buffer, &item);
        peer_check(ck_ring_dequeue_mpmc(&ring, buffer, &out), "pop");
    }
    return (peer_result){peer_now() - begin, (double)size};
}

static peer_result run_fifo_spsc(long size) {
    int item = 0;
    void *out;
    double begin = peer_now();
    for (long i = 0; i < size; i++) {
        ck_ring_enqueue_spsc(&ring, buffer, &item);
        peer_check(ck_ring_dequeue_spsc(&ring, buffer, &out), "pop");
    }
    return (peer_result){peer_now() - begin, (double)size};
}

int main(int argc, char **argv) {
    static const peer_case cases[] = {
        {"fifo", "ns", run_fifo, 1000000, 0},
        {"fifo_spsc", "ns", run_fifo_spsc, 1000000, 0},
    };
    return peer_main(argc, argv, cases, sizeof cases / sizeof *cases, start, stop);
}
