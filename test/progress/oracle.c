/* Random programs in virtual time: does every task run when it could? See watch.h for the rules, and
 * program.h for the programs.
 *
 *   oracle [-n COUNT] [-s SEED] [-k] [-m COUNT] [-x WHAT]... [-p] [-v]
 *
 * -n: so many programs; -s: from this seed on; -k: it goes on behind a failure, and shows the first of
 * each rule, or the first COUNT of each with -m; -x: programs do without that (program.h
 * lists what); -p: it prints every program; -v: what happens in the one
 * that fails. A program that fails is shortened until nothing more can be left out. The last line but one
 * says how much worker-time was idle beside tasks that could run, by what let them run. */
#include "shorten.h"

#include <signal.h>
#include <time.h>

static uint64_t seed_now;

static void crashed(int number) {
    fprintf(stderr, "oracle: signal %d in the program of -s %llu\n", number, (unsigned long long)seed_now);
    _Exit(2);
}

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void failure_print(program *all, bool loud) {
    char rule[16];
    snprintf(rule, sizeof rule, "%s", watch.rule);
    printf("-s %llu fails: %s: %s\n", (unsigned long long)all->seed, watch.rule, watch.why);
    fflush(stdout);
    program_shorten(all, rule);
    watch_loud = loud;
    program_holds(all);
    watch_loud = false;
    printf("shortened: %s: %s\n", watch.rule, watch.why);
    program_print(all);
    fflush(stdout);
}

int main(int argc, char **argv) {
    uint64_t first = 1, failed = 0, shown = 1;
    uint64_t count = WSQ_RING_CAPACITY < 256 ? 2000 : 4000; /* make test runs half of the latter */
    bool goes_on = false, prints = false, loud = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-k") == 0) goes_on = true;
        else if (strcmp(argv[i], "-p") == 0) prints = true;
        else if (strcmp(argv[i], "-v") == 0) loud = true;
        else if (i + 1 < argc && strcmp(argv[i], "-x") == 0 && avoid(argv[i + 1])) i++;
        else if (i + 1 < argc && strcmp(argv[i], "-m") == 0) shown = strtoull(argv[++i], NULL, 0);
        else if (i + 1 < argc && strcmp(argv[i], "-n") == 0) count = strtoull(argv[++i], NULL, 0);
        else if (i + 1 < argc && strcmp(argv[i], "-s") == 0) first = strtoull(argv[++i], NULL, 0);
        else return fprintf(stderr, "oracle [-n COUNT] [-s SEED] [-k] [-m COUNT] [-x WHAT]... [-p] [-v]\n"), 2;
    }
    if (getenv("WSQ_SCALE") != NULL) count = (uint64_t)((double)count * atof(getenv("WSQ_SCALE")));
    signal(SIGSEGV, crashed);
    signal(SIGABRT, crashed);
    double start = seconds();
    struct { char rule[16]; uint64_t times, first; } rules[24] = {0};
    for (seed_now = first; seed_now < first + count; seed_now++) {
        static program all;
        program_draw(&all, seed_now);
        if (prints) program_print(&all);
        if (program_holds(&all)) continue;
        failed++;
        int r = 0;
        while (rules[r].times != 0 && strcmp(rules[r].rule, watch.rule) != 0) r++;
        if (rules[r].times++ < shown) {
            if (rules[r].times == 1) memcpy(rules[r].rule, watch.rule, sizeof rules[r].rule);
            if (rules[r].times == 1) rules[r].first = seed_now;
            if (goes_on) printf("after %.2f s: ", seconds() - start);
            if (goes_on) failure_print(&all, loud);
        }
        if (goes_on) continue;
        failure_print(&all, loud);
        break;
    }
    for (int r = 0; goes_on && rules[r].times != 0; r++)
        printf("%-13s %llu, first -s %llu\n", rules[r].rule, (unsigned long long)rules[r].times,
               (unsigned long long)rules[r].first);
    printf("idle beside tasks that could run, us a program:");
    for (int i = 0; i < CAUSES; i++)
        printf("%s %s %.1f", i > 0 ? ";" : "", cause_names[i],
               watch_idle_ns[i] / 1e3 / (double)(seed_now - first + (failed && !goes_on)));
    printf("\n%llu programs, %llu failed, %.1f s\n", (unsigned long long)(seed_now - first), (unsigned long long)failed,
           seconds() - start);
    return failed != 0;
}
