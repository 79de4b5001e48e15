/* scale_report.h - runs the program once for each number of cores, and says what came out.
 *
 * Before main the program starts itself again and again, each time with another simulated machine;
 * each of these runs writes its figures into a pipe when it ends. The first process prints the table
 * and never comes to main. */
#ifndef SCALE_REPORT_H
#define SCALE_REPORT_H

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

enum { SCALE_RUNS = 16, SCALE_ROWS = 10, SCALE_WATCH_S = 10 };

/* ---- a run on the simulated machine ---- */

/* Every 10 seconds: has the program called wsq since? */
static void scale_watch(int signal) {
    static uint64_t last;
    static const char text[] =
        "scale: 10 seconds of the program's own code without a call of wsq. If it computes, wait. If "
        "it waits\nfor another thread (a flag of its own, a lock, a pipe), it waits for ever: one "
        "thread does everything here.\n";
    (void)signal;
    if (scale_strand_here()->user && scale.since == last &&
        write(scale.errors, text, sizeof text - 1) < 0)
        return;
    last = scale.since;
}

static void scale_count_path(void) {
    for (scale_node *node = scale_strand_here()->path.node; node != NULL; node = node->before) {
        node->site->path += node->ps;
        node->site->path_pieces++;
    }
}

static void scale_run_end(void) {
    scale_out();
    FILE *out = fdopen(scale.report, "w");
    if (out == NULL) return;
    scale_stolen();
    scale_count_path();
    const scale_sums *s = &scale.sums;
    fprintf(out, "run %.0f %.0f %.0f %u %u\n", (double)sim.running->clock, (double)scale.region,
            (double)scale.span, scale.pools_flexible, scale.pools_fixed);
    fprintf(out, "sums %.0f %.0f %.0f %.0f %.0f %.0f %.0f\n", (double)s->run, (double)s->work,
            (double)s->line, (double)s->spin, (double)s->kernel, (double)s->rising,
            (double)s->waited);
    fprintf(out, "block %.0f %.0f\n", (double)scale.blocks, (double)scale.blocked);
    for (const scale_site *site = scale.sites; site != NULL; site = site->next) {
        const char *slash = strrchr(site->file, '/');
        fprintf(out, "site %d %.0f %.0f %.0f %.0f %.0f %.0f %s:%d %s\n",
                site == &scale.outside, (double)site->work, (double)site->begun,
                (double)site->longest, (double)site->waited, (double)site->path,
                (double)site->path_pieces, slash != NULL ? slash + 1 : site->file, site->line,
                site->what);
    }
    fprintf(out, "end\n");
    fclose(out);
}

/* What a piece without anything in it seems to take: the middle one of many. */
static void scale_calibrate(void) {
    enum { TIMES = 501 };
    uint64_t ticks[TIMES];
    for (int i = 0; i < TIMES; i++) {
        scale_in();
        ticks[i] = scale_ticks() - scale.since;
        scale_out();
        for (int k = i; k > 0 && ticks[k - 1] > ticks[k]; k--) {
            uint64_t other = ticks[k];
            ticks[k] = ticks[k - 1];
            ticks[k - 1] = other;
        }
    }
    scale.overhead = ticks[TIMES / 2];
    sim.running->clock = sim.running->born = sim.running->work = 0;
}

static void scale_run_begin(const char *text) {
    char name[16];
    const sim_machine *machine = sim_machines;
    if (sscanf(text, "%u %d %d %lf %15s", &scale.cores, &scale.report, &scale.errors,
               &scale.tick_ns, name) != 5)
        sim_fail("WSQ_SCALE_RUN is set, and not by scale.h");
    while (strcmp(machine->name, name) != 0) machine++;
    scale.machine = *machine;
    scale.machine.cores = scale.cores;
    scale.outside.what = "outside of tasks and jobs";
    scale.unknown.what = "tasks whose spawn was not seen";
    scale.outside.file = scale.unknown.file = "-";
    sim_begin(&scale.machine);
    sim_limit(scale.cores);
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    scale.switches = usage.ru_nvcsw;
    scale.sync_ticks = scale.seen = scale_ticks();
    scale.sync_cpu = scale_cpu_ns();
    scale_calibrate();
    struct itimerval watch = {{SCALE_WATCH_S, 0}, {SCALE_WATCH_S, 0}};
    struct sigaction action = {.sa_handler = scale_watch, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &watch, NULL);
    atexit(scale_run_end);
    scale_in();
}

/* ---- the table ---- */

typedef struct scale_row {
    char where[192], what[64];
    bool outside;
    double work, begun, longest, waited, path, path_pieces;
} scale_row;

typedef struct scale_result {
    unsigned cores, flexible, fixed;
    bool complete;
    double whole, region, span, run, work, line, spin, kernel, rising, waited, blocks, blocked;
    scale_row *rows;
    size_t count;
} scale_result;

static void scale_read(scale_result *result, FILE *in) {
    char text[512];
    while (fgets(text, sizeof text, in) != NULL) {
        scale_row row = {0};
        int outside = 0;
        if (sscanf(text, "site %d %lf %lf %lf %lf %lf %lf %191s %63[^\n]", &outside, &row.work,
                   &row.begun, &row.longest, &row.waited, &row.path, &row.path_pieces, row.where,
                   row.what) == 9) {
            row.outside = outside != 0;
            result->rows = (scale_row *)realloc(result->rows, (result->count + 1) * sizeof row);
            if (result->rows == NULL) sim_fail("no memory");
            result->rows[result->count++] = row;
        }
        sscanf(text, "run %lf %lf %lf %u %u", &result->whole, &result->region, &result->span,
               &result->flexible, &result->fixed);
        sscanf(text, "sums %lf %lf %lf %lf %lf %lf %lf", &result->run, &result->work, &result->line,
               &result->spin, &result->kernel, &result->rising, &result->waited);
        sscanf(text, "block %lf %lf", &result->blocks, &result->blocked);
        if (strcmp(text, "end\n") == 0) result->complete = true;
    }
}

static double scale_tick(void) {
#ifdef SCALE_TICKS
    return 1;
#endif
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    uint64_t ticks = scale_ticks();
    do clock_gettime(CLOCK_MONOTONIC, &b);
    while ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec) < 5e7);
    ticks = scale_ticks() - ticks;
    return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / (double)ticks;
}

static void scale_run(scale_result *result, const char *machine, double tick, char **argv) {
    int ends[2], status = 0;
    if (pipe(ends) != 0) sim_fail("no pipe");
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) sim_fail("no process");
    if (child == 0) {
        char text[96];
        int errors = dup(2);
        if (getenv("WSQ_SCALE_SHOW") == NULL &&
            (freopen("/dev/null", "w", stdout) == NULL || freopen("/dev/null", "w", stderr) == NULL))
            _exit(126);
        close(ends[0]);
        snprintf(text, sizeof text, "%u %d %d %.9g %s", result->cores, ends[1], errors, tick,
                 machine);
        setenv("WSQ_SCALE_RUN", text, 1);
        execv("/proc/self/exe", argv);
        _exit(127);
    }
    close(ends[1]);
    FILE *in = fdopen(ends[0], "r");
    if (in == NULL) sim_fail("no memory");
    scale_read(result, in);
    fclose(in);
    waitpid(child, &status, 0);
    if (!result->complete)
        fprintf(stderr, "scale: the program did not come to its end on %u simulated cores (%s %d); "
                        "WSQ_SCALE_SHOW=1 shows what it says\n",
                result->cores, WIFSIGNALED(status) ? "signal" : "status",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    else if (status != 0)
        fprintf(stderr, "scale: on %u simulated cores the program ended with status %d\n",
                result->cores, WEXITSTATUS(status));
    if (!result->complete) exit(1);
}

/* Noise in a short run is that of a few pieces: the middle one of three. A first one for the caches
 * of the system, of files above all, does not count. */
static void scale_rounds(scale_result *result, const char *machine, double tick, char **argv,
                         bool first) {
    scale_result rounds[3];
    struct timespec a, b;
    int count = 0;
    for (int i = first ? -1 : 0; i < 3; i++) {
        scale_result *round = &rounds[i < 0 ? 0 : i];
        memset(round, 0, sizeof *round);
        round->cores = result->cores;
        clock_gettime(CLOCK_MONOTONIC, &a);
        scale_run(round, machine, tick, argv);
        clock_gettime(CLOCK_MONOTONIC, &b);
        if (i >= 0) count++;
        if (i >= 0 && b.tv_sec - a.tv_sec > 1) break;
    }
#define SCALE_SPEED(i) (rounds[i].work / (rounds[i].region + 1))
    int middle = 0;
    if (count == 3)
        for (int i = 0; i < 3; i++) {
            int x = (i + 1) % 3, y = (i + 2) % 3;
            if ((SCALE_SPEED(x) <= SCALE_SPEED(i)) != (SCALE_SPEED(y) <= SCALE_SPEED(i))) middle = i;
        }
#undef SCALE_SPEED
    *result = rounds[middle];
}

static int scale_by_work(const void *a, const void *b) {
    double x = ((const scale_row *)a)->work, y = ((const scale_row *)b)->work;
    return (x < y) - (x > y);
}

static int scale_by_path(const void *a, const void *b) {
    double x = ((const scale_row *)a)->path, y = ((const scale_row *)b)->path;
    return (x < y) - (x > y);
}

static const char *scale_time(double ps, char *text) {
    if (ps >= 1e12) snprintf(text, 16, "%.2f s", ps / 1e12);
    else if (ps >= 1e9) snprintf(text, 16, "%.2f ms", ps / 1e9);
    else if (ps >= 1e6) snprintf(text, 16, "%.2f us", ps / 1e6);
    else snprintf(text, 16, "%.1f ns", ps / 1e3);
    return text;
}

/* The part of the work that was done in each ns, beside that of one core: noise in how long the
 * pieces took is in both. A program that mostly sleeps has too little work for that. */
static double scale_speedup(const scale_result *one, const scale_result *many) {
    if (one->work < one->region / 2) return one->region / many->region;
    return many->work / many->region / (one->work / one->region);
}

static double scale_whole_speedup(const scale_result *one, const scale_result *many) {
    return one->whole / (one->whole - one->region + one->region / scale_speedup(one, many));
}

static void scale_print_table(const scale_result *results, int count) {
    const scale_result *one = &results[0];
    char a[16];
    printf("\n%6s%12s%10s%8s |%7s%9s%7s%8s%7s%6s\n%6s%12s%10s%8s |  %% of the cores' time\n",
           "cores", "time", "speed-up", "whole", "work", "waiting", "idle", "waking", "lines", "wsq",
           "", "", "", "program");
    for (int i = 0; i < count; i++) {
        const scale_result *r = &results[i];
        double all = r->region * r->cores / 100, speedup = scale_speedup(one, r);
        double waited = r->waited < r->region * r->cores - r->work ? r->waited : 0;
        double idle = r->region * r->cores - r->run + r->spin - waited - r->rising;
        double rest = r->run - r->work - r->line - r->spin - r->kernel;
        printf("%6u%12s%10.2f%8.2f |%7.1f%9.1f%7.1f%8.1f%7.1f%6.1f\n", r->cores,
               scale_time(one->region / speedup, a), speedup, scale_whole_speedup(one, r),
               r->work / all, waited / all, idle > 0 ? idle / all : 0,
               (r->kernel + r->rising) / all, r->line / all, rest > 0 ? rest / all : 0);
    }
    printf("waiting: in a join or a loop's end, for a job that runs elsewhere; idle: nothing to run;\n"
           "waking: calls of the system, and until a sleeper runs; lines: between cores; wsq: its "
           "own work\n");
}

static void scale_print_rows(scale_result *one, const scale_result *most, scale_result *shortest) {
    char a[16], b[16], c[16];
    double spans = 0;
    qsort(one->rows, one->count, sizeof *one->rows, scale_by_work);
    printf("\n%-44s%9s%8s%11s%11s%14s\n", "where the work is", "calls", "work, %", "a call",
           "longest", "waited for");
    for (size_t i = 0; i < one->count; i++) {
        const scale_row *row = &one->rows[i];
        double waited = 0;
        for (size_t k = 0; k < most->count; k++)
            if (strcmp(most->rows[k].where, row->where) == 0 &&
                strcmp(most->rows[k].what, row->what) == 0)
                waited = most->rows[k].waited;
        if (row->outside || i > SCALE_ROWS) continue;
        printf("%-20.20s %-23.23s%9.0f%8.1f%11s%11s%14s\n", row->what, row->where, row->begun,
               100 * row->work / one->work, scale_time(row->work / (row->begun + !row->begun), a),
               scale_time(row->longest, b), scale_time(waited, c));
    }
    printf("longest: without a call of wsq; waited for: by all cores, of %u\n", most->cores);
    qsort(shortest->rows, shortest->count, sizeof *shortest->rows, scale_by_path);
    printf("\n%-44s%9s%14s\n", "the critical path", "pieces", "% of its time");
    for (size_t i = 0; i < shortest->count; i++)
        if (!shortest->rows[i].outside) spans += shortest->rows[i].path;
    for (size_t i = 0, shown = 0; i < shortest->count && shown < SCALE_ROWS; i++) {
        const scale_row *row = &shortest->rows[i];
        if (row->outside || row->path <= 0) continue;
        shown++;
        printf("%-20.20s %-23.23s%9.0f%14.1f\n", row->what, row->where, row->path_pieces,
               100 * row->path / spans);
    }
}

static void scale_print_words(const scale_result *one, const scale_result *most, double span) {
    char a[16], b[16];
    printf("\nwork %s, span %s: parallelism %.0f, more cores than that are of no use\n",
           scale_time(one->work, a), scale_time(span, b), span > 0 ? one->work / span : 0);
    if (one->whole - one->region > 0.02 * one->whole)
        printf("%s of the program's %s on one core lie outside of the pool, where more cores do not "
               "help.\n", scale_time(one->whole - one->region, a), scale_time(one->whole, b));
    if (one->fixed > 0)
        printf("Pools that ask for a number of workers of their own, whatever the machine, are not in the "
               "table (%u;\nwsq_config.workers 0 takes all cores).\n", one->fixed);
    if (most->work > 1.25 * one->work || most->work < 0.8 * one->work)
        printf("The work itself took %.2f times as long in the run for %u cores as for one: this "
               "machine is busy, the\nprogram does more with more workers, or its pieces take some ns "
               "only, which cannot be measured well.\n",
               most->work / one->work, most->cores);
    if (one->blocked * 1e3 > 0.01 * one->region)
        printf("The program BLOCKED %.0f times, %s in all: it read, wrote, slept or waited where "
               "neither wsq nor\nthe simulator sees it. That time counts as none, so the figures "
               "hold for the computing alone: a task\nthat blocks holds up its worker (or a "
               "stand-in, after wsq_block_begin) on a real machine.\n",
               one->blocks, scale_time(one->blocked * 1e3, a));
    printf("Not known here: memory bandwidth, caches (data that moves from core to core, or no longer "
           "fits), the\nprocessor's clock when all cores work, NUMA. A program that is limited by "
           "memory gets less.\n");
}

static void scale_svg(const char *path, const char *program, const scale_result *results, int count,
                      double span) {
    FILE *out = fopen(path, "w");
    const scale_result *one = &results[0];
    double top = results[count - 1].cores, step = 0, width = 560, height = 400;
    if (out == NULL || top < 2) {
        if (out != NULL) fclose(out);
        return;
    }
    while ((double)(1 << (int)step) < top) step++;
    step = 1 / step;
#define SCALE_LOG(v) (step * __builtin_log2(v))
#define SCALE_X(v) (60 + width * SCALE_LOG(v))
#define SCALE_Y(v) (40 + height * (1 - SCALE_LOG((v) > 1 ? (v) : 1)))
    fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\" height=\"500\" "
                 "font-family=\"sans-serif\" font-size=\"14\">\n<rect width=\"760\" height=\"500\" "
                 "fill=\"white\"/>\n<text x=\"60\" y=\"24\" font-size=\"16\">%s: speed-up on simulated "
                 "cores</text>\n", program);
    for (double v = 1; v <= top; v *= 2)
        fprintf(out, "<path d=\"M%.0f 40V440M60 %.0fH620\" stroke=\"#ddd\"/><text x=\"%.0f\" y=\"460\" "
                     "text-anchor=\"middle\">%.0f</text><text x=\"52\" y=\"%.0f\" "
                     "text-anchor=\"end\">%.0f</text>\n",
                SCALE_X(v), SCALE_Y(v), SCALE_X(v), v, SCALE_Y(v) + 5, v);
    double most = span > 0 ? one->work / span : top;
    if (most > top) most = top;
    fprintf(out, "<path d=\"M%.1f %.1fL%.1f %.1fH620\" fill=\"none\" stroke=\"#888\" "
                 "stroke-dasharray=\"6 4\"/><text x=\"626\" y=\"%.0f\" fill=\"#666\">at most</text>\n",
            SCALE_X(1.0), SCALE_Y(1.0), SCALE_X(most), SCALE_Y(most), SCALE_Y(most) + 5);
    for (int whole = 1; whole >= 0; whole--) {
        const char *colour = whole ? "#D55E00" : "#0072B2";
        double last = 1;
        fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colour);
        for (int i = 0; i < count; i++) {
            last = whole ? scale_whole_speedup(one, &results[i]) : scale_speedup(one, &results[i]);
            fprintf(out, "%.1f,%.1f ", SCALE_X((double)results[i].cores), SCALE_Y(last));
        }
        fprintf(out, "\"/><text x=\"626\" y=\"%.0f\" fill=\"%s\">%s %.1f</text>\n",
                SCALE_Y(last) + (whole ? 20 : 5), colour, whole ? "whole program" : "in the pool",
                last);
    }
#undef SCALE_LOG
#undef SCALE_X
#undef SCALE_Y
    fprintf(out, "<text x=\"340\" y=\"485\" text-anchor=\"middle\">cores</text>\n</svg>\n");
    fclose(out);
    printf("\nplot: %s\n", path);
}

static void scale_report(char **argv) {
    static scale_result results[SCALE_RUNS];
    const char *list = getenv("WSQ_SCALE"), *machine = getenv("WSQ_SCALE_MACHINE");
    const char *svg = getenv("WSQ_SCALE_SVG"), *at = list != NULL ? list : "2,4,8,16,32,64,128";
    const sim_machine *known = sim_machines;
    int count = 1;
    double tick = scale_tick();
    if (machine == NULL) machine = "128";
    for (size_t i = 0; i < SIM_MACHINES && strcmp(known->name, machine) != 0; i++) known++;
    if (known == sim_machines + SIM_MACHINES) sim_fail("WSQ_SCALE_MACHINE: no such machine");
    results[0].cores = 1;
    while (*at != 0 && count < SCALE_RUNS) {
        char *end;
        unsigned long cores = strtoul(at, &end, 10);
        if (end == at || cores == 0 || cores > known->cores || (*end != 0 && *end != ','))
            sim_fail("WSQ_SCALE: numbers of cores with commas, as many as the machine has at most");
        if (cores > 1) results[count++].cores = (unsigned)cores;
        at = *end == ',' ? end + 1 : end;
    }
    const char *slash = strrchr(argv[0], '/'), *program = slash != NULL ? slash + 1 : argv[0];
    printf("# what would %s do on more cores? Each line is a run in virtual time: the program's "
           "code\n# runs on one core, wsq.h on a simulated machine (%s)\n", program, known->what);
    for (int i = 0; i < count; i++) {
        scale_rounds(&results[i], machine, tick, argv, i == 0);
        if (i == 0 && results[0].flexible == 0)
            sim_fail("every pool of this program asks for a number of workers of its own: with "
                     "wsq_config.workers 0 it would take all cores");
        if (results[i].region <= 0 || results[i].work <= 0)
            sim_fail("the program's pool had no work");
    }
    scale_result *most = &results[count - 1], *shortest = &results[0];
    for (int i = 1; i < count; i++) /* an interrupt makes a span longer, nothing makes one shorter */
        if (results[i].span > 0 && results[i].span < shortest->span) shortest = &results[i];
    scale_print_table(results, count);
    scale_print_words(&results[0], most, shortest->span);
    scale_print_rows(&results[0], most, shortest);
    scale_svg(svg != NULL ? svg : "scale.svg", program, results, count, shortest->span);
}

static __attribute__((constructor)) void scale_begin(int argc, char **argv) {
    const char *run = getenv("WSQ_SCALE_RUN");
    (void)argc;
    if (scale.on) return;
    scale.on = true;
    if (run != NULL) {
        scale_run_begin(run);
        return;
    }
    scale_report(argv);
    exit(0);
}

#endif /* SCALE_REPORT_H */
