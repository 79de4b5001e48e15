/* The kernels of the peers' cases, compiled once: every peer in C, C++ and Rust calls the same
 * machine code, so that only the calling library differs. */
#include "work.h"

/* Each step waits for the one before. The barrier keeps compilers from folding steps together. */
uint64_t peer_burn(uint64_t steps) {
    uint64_t x = steps;
    while (steps-- > 0) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

void peer_loop(float *numbers, long begin, long end) {
    for (long i = begin; i < end; i++) {
        float x = numbers[i];
        for (int k = 0; k < 16; k++) x = x * x * 0.5f + 0.25f;
        numbers[i] = x;
    }
}

void peer_uneven(long begin, long end) {
    for (long i = begin; i < end; i++) peer_burn((uint64_t)i);
}

/* Does the queen of the last row stand clear of all the others? */
bool peer_queen_holds(const signed char *board, int rows) {
    int last = rows - 1;
    for (int row = 0; row < last; row++) {
        int distance = board[last] - board[row];
        if (distance == 0 || distance == last - row || distance == row - last) return false;
    }
    return true;
}

static int32_t middle(int32_t a, int32_t b, int32_t c) {
    int32_t low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Hoare's: afterwards nothing before the result is greater than anything from it on. */
long peer_partition(int32_t *a, long n) {
    int32_t pivot = middle(a[n / 4], a[n / 2], a[n - 1 - n / 4]);
    for (long i = 0, k = n - 1;;) {
        while (a[i] < pivot) i++;
        while (a[k] > pivot) k--;
        if (i >= k) return i > 0 ? i : 1;
        int32_t x = a[i];
        a[i++] = a[k];
        a[k--] = x;
    }
}

void peer_sort_plain(int32_t *a, long n) {
    while (n > 24) {
        long cut = peer_partition(a, n);
        peer_sort_plain(a, cut);
        a += cut;
        n -= cut;
    }
    for (long i = 1; i < n; i++) {
        int32_t x = a[i];
        long k = i;
        for (; k > 0 && a[k - 1] > x; k--) a[k] = a[k - 1];
        a[k] = x;
    }
}

/* c += a * b, of leaves. */
void peer_matrix_leaf(float *c, const float *a, const float *b) {
    for (long i = 0; i < PEER_MATRIX_LEAF; i++) {
        for (long k = 0; k < PEER_MATRIX_LEAF; k++) {
            float factor = a[i * PEER_MATRIX + k];
            for (long j = 0; j < PEER_MATRIX_LEAF; j++)
                c[i * PEER_MATRIX + j] += factor * b[k * PEER_MATRIX + j];
        }
    }
}
