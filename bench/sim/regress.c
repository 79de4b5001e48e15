/* Efficiency on 128 simulated cores, beside a table of what it was: the mean of eight numbers of
 * workers, 100 to 128, for one alone changes by up to a tenth, uts by half, with where the last
 * pieces of work happen to lie.
 *
 *   regress TABLE      fails where they are worse by more than 3% on the average, or one by 10%: any
 *                      change moves one of them by some percent
 *   regress -w TABLE   writes the table anew */
#include "efficiency.h"

#define TOLERANCE 0.1
#define AVERAGE 0.03

static const char *const names[] = {"fib", "skynet", "uts", "uneven", "all-2us", "one-2us"};

enum { NAMES = sizeof names / sizeof *names };

static double measure(const char *name) {
    const sim_machine *machine = sim_machines;
    const workload *load = workloads;
    while (strcmp(machine->name, "128") != 0) machine++;
    while (strcmp(load->name, name) != 0) load++;
    outcome one = workload_alone(load, machine, 1e6);
    double sum = 0;
    for (unsigned n = machine->cores - 28; n <= machine->cores; n += 4) {
        outcome many = workload_measure(load, machine, n, 0.5e6 * n / load->unit_ns, 0);
        sum += workload_efficiency(load, &one, &many, n);
    }
    return sum / 8;
}

static void fail(const char *what, const char *path) {
    fprintf(stderr, "regress: %s: %s\n", path, what);
    exit(2);
}

static int write_table(const char *path) {
    FILE *file = fopen(path, "w");
    if (file == NULL) fail("cannot be written", path);
    for (int i = 0; i < NAMES; i++) fprintf(file, "%s %.4f\n", names[i], measure(names[i]));
    if (fclose(file) != 0) fail("cannot be written", path);
    return 0;
}

static int compare(const char *path) {
    int passed = 0, failed = 0;
    char name[32];
    double expected, sum = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL) fail("cannot be read", path);
    while (fscanf(file, "%31s %lf", name, &expected) == 2) {
        int i = 0;
        while (i < NAMES && strcmp(names[i], name) != 0) i++;
        if (i == NAMES) fail("names an unknown workload", path);
        double now = measure(name);
        bool worse = now < expected * (1 - TOLERANCE), better = now > expected * (1 + TOLERANCE);
        printf("%-10s efficiency %.3f, was %.3f%s\n", name, now, expected,
               worse ? ": FAILED" : better ? ": better, renew the table (make sim-table)" : "");
        sum += now / expected;
        if (worse) failed++;
        else passed++;
    }
    fclose(file);
    if (passed + failed != NAMES) fail("lacks a workload", path);
    bool worse = sum / NAMES < 1 - AVERAGE;
    printf("average    %.3f of what it was%s\n", sum / NAMES, worse ? ": FAILED" : "");
    if (worse) failed++;
    else passed++;
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}

static int program(int argc, char **argv) {
    if (argc == 2 && argv[1][0] != '-') return compare(argv[1]);
    if (argc == 3 && strcmp(argv[1], "-w") == 0) return write_table(argv[2]);
    fprintf(stderr, "regress [-w] TABLE\n");
    return 2;
}

int main(int argc, char **argv) { return sim_program_run(program, argc, argv); }
