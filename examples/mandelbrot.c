/* Mandelbrot: renders a picture by one task per row and writes it as a PNG.
 *     mandelbrot [-s WIDTHxHEIGHT] [-i iterations] [-w workers] [-o file.png]
 *
 * Rows are uneven: one through the black heart of the set costs many times one at the edge of the
 * picture. Nobody deals them out in advance; a worker that runs dry takes from another.
 * With WSQ_TRACE=file in the environment it also writes a timeline, for trace.html. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "trace.h"
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_SIDE = 16384 };

struct image {
    unsigned width, height, iterations;
    unsigned char *pixels; /* 3 bytes each: red, green, blue */
    bool show_progress;
    atomic_uint rows_done;
};

struct row {
    struct image *image;
    unsigned y;
    wsq_task task;
};

/* ---- the picture ---- */

/* A smooth loop of colours, so that neighbouring iteration counts look alike. */
static void colour(double speed, unsigned char *rgb) {
    static const double phase[3] = {3.0, 3.6, 4.4};
    for (int i = 0; i < 3; i++) {
        rgb[i] = (unsigned char)(127.5 * (1 + sin(phase[i] + 2.2 * log(speed + 1))));
    }
}

static void render_pixel(double cx, double cy, unsigned iterations, unsigned char *rgb) {
    double x = 0, y = 0, xx = 0, yy = 0;
    unsigned n = 0;
    for (; n < iterations && xx + yy < 256; n++) {
        y = 2 * x * y + cy;
        x = xx - yy + cx;
        xx = x * x;
        yy = y * y;
    }
    if (n == iterations) memset(rgb, 0, 3);
    else colour(n + 4 - log2(log2(xx + yy)), rgb);
}

static wsq_poll render_row(wsq_ctx ctx, wsq_task *task) {
    struct row *row = wsq_container_of(task, struct row, task);
    struct image *image = row->image;
    double scale = 2.6 / image->height;
    double cy = (row->y + 0.5 - image->height / 2.0) * scale;
    unsigned char *out = image->pixels + (size_t)3 * image->width * row->y;
    (void)ctx;
    for (unsigned x = 0; x < image->width; x++, out += 3) {
        double cx = (x + 0.5 - image->width / 2.0) * scale - 0.65;
        render_pixel(cx, cy, image->iterations, out);
    }
    unsigned done = 1 + atomic_fetch_add_explicit(&image->rows_done, 1, memory_order_relaxed);
    if (image->show_progress && done * 50 / image->height != (done - 1) * 50 / image->height) {
        done = atomic_load_explicit(&image->rows_done, memory_order_relaxed);
        fprintf(stderr, "\r%3u%%%s", done * 100 / image->height, done == image->height ? "\r" : "");
    }
    return WSQ_DONE;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void must(wsq_result result) {
    if (result == WSQ_OK) return;
    fprintf(stderr, "mandelbrot: %s\n", wsq_result_string(result));
    exit(1);
}

/* Seconds. The pool's threads start before the clock does. */
static double render(struct image *image, struct row *rows, unsigned workers, bool print_stats) {
    struct trace *trace = print_stats ? trace_open(getenv("WSQ_TRACE")) : NULL;
    wsq_config config = {.workers = workers, .hooks = trace_hooks(trace)};
    wsq_pool *pool;
    must(wsq_pool_create(&pool, &config));
    trace_watch(trace, pool);
    trace_name(trace, (uintptr_t)render_row, "row");
    atomic_store(&image->rows_done, 0);
    double began = now();
    for (unsigned y = 0; y < image->height; y++) {
        rows[y].image = image;
        rows[y].y = y;
        wsq_task_init(&rows[y].task, render_row);
        must(wsq_spawn(pool, &rows[y].task));
    }
    must(wsq_pool_wait(pool));
    double elapsed = now() - began;
    printf("%4u worker%s %.3f s\n", wsq_pool_workers(pool),
           wsq_pool_workers(pool) == 1 ? " " : "s", elapsed);
    if (print_stats) wsq_stats_print(pool, stdout);
    wsq_pool_destroy(pool);
    trace_close(trace);
    return elapsed;
}

/* ---- the file: PNG with the pixels stored, not compressed ---- */

struct png {
    FILE *file;
    uint32_t crc, adler_a, adler_b;
};

static void put(struct png *png, const void *data, size_t size) {
    const unsigned char *bytes = data;
    fwrite(data, 1, size, png->file);
    for (size_t i = 0; i < size; i++) {
        static const uint32_t table[16] = {
            0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
            0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
            0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
        uint32_t crc = png->crc ^ bytes[i];
        crc = table[crc & 15] ^ (crc >> 4);
        png->crc = table[crc & 15] ^ (crc >> 4);
    }
}

static void put32(struct png *png, uint32_t x) {
    unsigned char bytes[4] = {(unsigned char)(x >> 24), (unsigned char)(x >> 16),
                              (unsigned char)(x >> 8), (unsigned char)x};
    put(png, bytes, 4);
}

static void begin_chunk(struct png *png, size_t length, const char *type) {
    put32(png, (uint32_t)length);
    png->crc = 0xffffffff;
    put(png, type, 4);
}

static void end_chunk(struct png *png) {
    put32(png, ~png->crc);
}

/* What the decompressor yields, and checks by its own sum. */
static void put_stored(struct png *png, const unsigned char *bytes, size_t size) {
    put(png, bytes, size);
    for (size_t i = 0; i < size; i++) {
        png->adler_a = (png->adler_a + bytes[i]) % 65521;
        png->adler_b = (png->adler_b + png->adler_a) % 65521;
    }
}

/* A row is a stored block: its header, a byte that says "no filter", the pixels. */
static void put_row(struct png *png, const unsigned char *pixels, size_t size, bool last) {
    unsigned length = (unsigned)size + 1;
    unsigned char header[5] = {last, (unsigned char)length, (unsigned char)(length >> 8),
                               (unsigned char)~length, (unsigned char)(~length >> 8)};
    put(png, header, 5);
    put_stored(png, (const unsigned char *)"", 1);
    put_stored(png, pixels, size);
}

static bool write_png(FILE *file, const struct image *image) {
    struct png png = {.file = file, .adler_a = 1};
    size_t row = (size_t)3 * image->width;
    put(&png, "\x89PNG\r\n\x1a\n", 8);
    begin_chunk(&png, 13, "IHDR");
    put32(&png, image->width);
    put32(&png, image->height);
    put(&png, "\x08\x02\0\0", 5); /* 8 bits a colour, three colours */
    end_chunk(&png);
    begin_chunk(&png, 2 + image->height * (5 + 1 + row) + 4, "IDAT");
    put(&png, "\x78\x01", 2);
    for (unsigned y = 0; y < image->height; y++) {
        put_row(&png, image->pixels + y * row, row, y + 1 == image->height);
    }
    put32(&png, png.adler_b << 16 | png.adler_a);
    end_chunk(&png);
    begin_chunk(&png, 0, "IEND");
    end_chunk(&png);
    bool failed = ferror(file) != 0;
    return fclose(file) == 0 && !failed;
}

/* ---- the command line ---- */

static void usage(const char *problem, const char *what) {
    fprintf(stderr, "mandelbrot: %s%s\n", problem, what);
    fputs("usage: mandelbrot [-s WIDTHxHEIGHT] [-i iterations] [-w workers] [-o file.png]\n"
          "  -s  size of the picture, each side 1 to 16384 (1920x1080)\n"
          "  -i  iterations for a point that never escapes, 1 to 1000000 (1000)\n"
          "  -w  workers, 1 to 1024 (one per usable core)\n"
          "  -o  file to write (mandelbrot.png)\n",
          stderr);
    exit(2);
}

/* A whole decimal number up to max, from *text on, which moves behind it; else 0. */
static unsigned number(const char **text, unsigned long max) {
    char *end;
    if (**text < '0' || **text > '9') return 0;
    unsigned long n = strtoul(*text, &end, 10);
    *text = end;
    return n <= max ? (unsigned)n : 0;
}

static void set_number(unsigned *out, const char *text, unsigned long max, const char *problem) {
    const char *rest = text;
    *out = number(&rest, max);
    if (*out == 0 || *rest != '\0') usage(problem, text);
}

static void set_size(struct image *image, const char *text) {
    const char *rest = text;
    image->width = number(&rest, MAX_SIDE);
    image->height = *rest++ == 'x' ? number(&rest, MAX_SIDE) : 0;
    if (image->width == 0 || image->height == 0 || *rest != '\0') usage("bad size: ", text);
}

int main(int argc, char **argv) {
    struct image image = {.width = 1920, .height = 1080, .iterations = 1000};
    const char *path = "mandelbrot.png";
    unsigned workers = 0;
    opterr = 0; /* usage says it better */
    for (int option; (option = getopt(argc, argv, "s:i:w:o:")) != -1;) {
        if (option == 's') set_size(&image, optarg);
        else if (option == 'i') set_number(&image.iterations, optarg, 1000000, "bad iterations: ");
        else if (option == 'w') set_number(&workers, optarg, 1024, "bad number of workers: ");
        else if (option == 'o') path = optarg;
        else usage("not an option, or nothing behind it: ", argv[optind - 1]);
    }
    if (optind < argc) usage("unexpected argument: ", argv[optind]);

    size_t size = (size_t)3 * image.width * image.height;
    unsigned char *alone = malloc(size), *together = malloc(size);
    struct row *rows = malloc(image.height * sizeof *rows);
    if (!alone || !together || !rows) must(WSQ_ERR_MEMORY);
    FILE *file = fopen(path, "wb"); /* first: a wrong path should not cost the rendering */
    if (!file) {
        fprintf(stderr, "mandelbrot: %s: %s\n", path, strerror(errno));
        return 1;
    }
    image.show_progress = isatty(STDERR_FILENO) != 0;
    image.pixels = alone;
    double one = render(&image, rows, 1, false);
    image.pixels = together;
    double many = render(&image, rows, workers, true);

    bool same = memcmp(alone, together, size) == 0;
    printf("speed-up %.2f, pictures %s\n", one / many, same ? "identical" : "DIFFER");
    bool written = write_png(file, &image);
    if (written) printf("%ux%u picture: %s\n", image.width, image.height, path);
    else fprintf(stderr, "mandelbrot: %s: %s\n", path, strerror(errno));
    free(rows);
    free(together);
    free(alone);
    return same && written ? 0 : 1;
}
