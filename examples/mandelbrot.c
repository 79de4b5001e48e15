/* Mandelbrot: renders a picture by one task per row and writes it as a PNG.
 *     cc -O2 -pthread mandelbrot.c -o mandelbrot -lm && ./mandelbrot
 *
 * Rows are uneven: one through the black heart of the set costs many times one at the edge of the
 * picture. Nobody deals them out in advance; a worker that runs out of rows takes from another. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "command.h"
#include "png.h"
#include "top.h"
#include "trace.h"
#include <math.h>

enum { MAX_SIDE = 16384 };

struct image {
    unsigned width, height, iterations;
    unsigned char *pixels; /* 3 bytes each: red, green, blue */
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
    progress_add(1);
    return WSQ_DONE;
}

static void must(wsq_result result) {
    if (result == WSQ_OK) return;
    fprintf(stderr, "mandelbrot: %s\n", wsq_result_string(result));
    exit(1);
}

/* How long the rows were queued before they started. */
static void print_queued(const struct top *top) {
    uint64_t queued[TOP_BUCKETS];
    char line[100];
    top_queued(top->shared, queued);
    for (unsigned step = 0; step < TOP_STEPS; step++)
        if (top_queued_line(line, sizeof line, queued, step)) puts(line);
}

/* Seconds. The pool's threads start before the clock does. */
static double render(struct image *image, struct row *rows, unsigned workers, bool print_stats) {
    struct trace *trace = print_stats ? trace_open(getenv("WSQ_TRACE")) : NULL;
    struct top *top = print_stats && !trace ? top_open(NULL) : NULL;
    wsq_config config = {.workers = workers, .hooks = trace ? trace_hooks(trace) : top_hooks(top)};
    wsq_pool *pool;
    must(wsq_pool_create(&pool, &config));
    trace_watch(trace, pool);
    top_watch(top, pool);
    trace_process(trace, "mandelbrot");
    trace_name(trace, (uintptr_t)render_row, "row");
    progress_begin("rendering", image->height);
    double began = command_now();
    for (unsigned y = 0; y < image->height; y++) {
        rows[y].image = image;
        rows[y].y = y;
        wsq_task_init(&rows[y].task, render_row);
        must(wsq_spawn(pool, &rows[y].task));
    }
    must(wsq_pool_wait(pool));
    double elapsed = command_now() - began;
    progress_end();
    printf("%4u worker%s %.3f s\n", wsq_pool_workers(pool),
           wsq_pool_workers(pool) == 1 ? " " : "s", elapsed);
    if (print_stats) wsq_stats_print(pool, stdout);
    if (top) print_queued(top);
    wsq_pool_destroy(pool);
    trace_close(trace);
    top_close(top);
    return elapsed;
}

/* ---- the command line ---- */

static const char help[] =
    "mandelbrot [-s WIDTHxHEIGHT] [-i iterations] [-w workers] [-o file.png]\n"
    "Renders the set on one core and on all, and writes the picture.\n"
    "  -s  size of the picture, each side from 1 to 16384 (1920x1080)\n"
    "  -i  iterations for a point that never escapes, from 1 to 1000000 (1000)\n"
    "  -w  workers, from 1 to 1024 (one per usable core)\n"
    "  -o  file to write (mandelbrot.png)\n"
    "With WSQ_TRACE=file in the environment it also writes a timeline, for trace.html.\n";

static void set_size(struct image *image, const char *text) {
    int width = 0, height = 0, length = 0;
    bool right = sscanf(text, "%5dx%5d%n", &width, &height, &length) == 2 && !text[length];
    if (!right || width < 1 || height < 1 || width > MAX_SIDE || height > MAX_SIDE)
        command_refuse("the size must be like 1920x1080, each side up to 16384, and not", text);
    image->width = (unsigned)width;
    image->height = (unsigned)height;
}

static void read_arguments(int argc, char **argv, struct image *image, unsigned *workers,
                           const char **path) {
    for (int option; (option = command_option(argc, argv, "s:i:w:o:", help)) != 0;) {
        const char *value = command.value;
        if (option == 's') set_size(image, value);
        else if (option == 'i') image->iterations = command_number("iterations", value, 1, 1000000);
        else if (option == 'w') *workers = command_number("workers", value, 1, 1024);
        else *path = value;
    }
    command_end(argc, argv);
}

int main(int argc, char **argv) {
    struct image image = {.width = 1920, .height = 1080, .iterations = 1000};
    const char *path = "mandelbrot.png";
    struct whole_file out;
    unsigned workers = 0;
    read_arguments(argc, argv, &image, &workers, &path);

    size_t size = (size_t)3 * image.width * image.height;
    unsigned char *alone = malloc(size), *together = malloc(size);
    struct row *rows = malloc(image.height * sizeof *rows);
    if (!alone || !together || !rows) must(WSQ_ERR_MEMORY);
    if (!whole_file_open(&out, path)) { /* first: a wrong path should not cost the rendering */
        fprintf(stderr, "mandelbrot: %s: %s\n", path, strerror(errno));
        return 1;
    }
    image.pixels = alone;
    double one = render(&image, rows, 1, false);
    image.pixels = together;
    double many = render(&image, rows, workers, true);

    bool same = memcmp(alone, together, size) == 0;
    printf("speed-up %.2f, pictures %s\n", one / many, same ? "identical" : "DIFFER");
    bool written = png_write(out.file, together, image.width, image.height);
    written = whole_file_close(&out, written);
    if (written) printf("%ux%u picture: %s\n", image.width, image.height, path);
    else fprintf(stderr, "mandelbrot: %s: %s\n", path, strerror(errno));
    free(rows);
    free(together);
    free(alone);
    return same && written ? 0 : 1;
}
