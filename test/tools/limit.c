/* limit.c - runs a program, and ends it when it hangs: usage: limit SECONDS WALL IDLE PROGRAM
 * Its exit status is 0 if the program's is; else it is 1. A program hangs when it took SECONDS of processor
 * time, when it ran for WALL seconds, or when none of its threads had anything to do for IDLE seconds.
 * Time for which a thread waits for a processor is not idle, so a loaded machine makes no program hang.
 * LIMIT_REPORT names a file for three numbers: the processor time, the wall time, the longest idle time. */
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Does the thread run or wait for a processor? The kernel counts the time that it waits only when it runs again. */
static bool runnable(const char *stat_path) {
    char text[256] = "";
    FILE *file = fopen(stat_path, "r");
    if (file == NULL) return false;
    if (fgets(text, sizeof text, file) == NULL) text[0] = '\0';
    fclose(file);
    const char *end = strrchr(text, ')'); /* of the name */
    return end != NULL && strlen(end) > 2 && end[2] == 'R';
}

/* Returns the seconds that the threads of a process and of its children ran or waited for a processor, and
 * adds to *used those that they ran. *ready: one of them could run now. */
static double active(long process, double *used, bool *ready) {
    char path[96];
    snprintf(path, sizeof path, "/proc/%ld/task", process);
    DIR *threads = opendir(path);
    double sum = 0;
    if (threads == NULL) return 0;
    for (struct dirent *entry; (entry = readdir(threads)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        unsigned long long ran = 0, waited = 0;
        long child;
        snprintf(path, sizeof path, "/proc/%ld/task/%.16s/schedstat", process, entry->d_name);
        FILE *file = fopen(path, "r");
        if (file != NULL && fscanf(file, "%llu %llu", &ran, &waited) == 2) {
            sum += (double)(ran + waited) * 1e-9;
            *used += (double)ran * 1e-9;
        }
        if (file != NULL) fclose(file);
        snprintf(path, sizeof path, "/proc/%ld/task/%.16s/stat", process, entry->d_name);
        *ready = *ready || runnable(path);
        snprintf(path, sizeof path, "/proc/%ld/task/%.16s/children", process, entry->d_name);
        if ((file = fopen(path, "r")) == NULL) continue;
        while (fscanf(file, "%ld", &child) == 1) sum += active(child, used, ready);
        fclose(file);
    }
    closedir(threads);
    return sum;
}

int main(int count, char **words) {
    if (count != 5) return 2;
    double most = atof(words[1]), wall = atof(words[2]), idle = atof(words[3]);
    double began = now(), busy_at = began, before = -1, longest = 0;
    pid_t child = fork();
    if (child == 0) {
        struct rlimit none = {0, 0};
        setpgid(0, 0);
        setrlimit(RLIMIT_CORE, &none);
        execl(words[4], words[4], (char *)NULL);
        _exit(127);
    }
    setpgid(child, child);
    int status = 1;
    double pause = 0.002;
    while (waitpid(child, &status, WNOHANG) == 0) {
        bool ready = false;
        double at = now(), ran = 0, all = active(child, &ran, &ready);
        if (ready || before < 0 || all < before || all - before > 0.02 * pause) busy_at = at;
        before = all;
        if (at - busy_at > longest) longest = at - busy_at;
        if (ran > most || at - began > wall || at - busy_at > idle) kill(-child, SIGKILL);
        struct timespec time = {0, (long)(pause * 1e9)};
        nanosleep(&time, NULL);
        if (pause < 0.1) pause *= 1.5;
    }
    kill(-child, SIGKILL); /* what it started */
    FILE *report = getenv("LIMIT_REPORT") != NULL ? fopen(getenv("LIMIT_REPORT"), "w") : NULL;
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    double ran = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                 (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
    if (report != NULL) fprintf(report, "%.2f %.2f %.2f\n", ran, now() - began, longest);
    if (report != NULL) fclose(report);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}
