/* What a command needs that has nothing to do with wsq: options, a clock, a percentage while
 * something lasts, a file that appears whole or not at all. C11, on POSIX and with MinGW. */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static inline double command_now(void) { /* in seconds */
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- options ---- */

static struct command {
    const char *help;  /* the text that -h prints; its first word is the program's name */
    const char *value; /* of the option that was found last */
    int at;            /* the index of the next argument */
} command = {.at = 1};

/* Says which argument is wrong, and ends the program with 2. */
static inline _Noreturn void command_refuse(const char *problem, const char *argument) {
    int name = (int)strcspn(command.help, " \n");
    fprintf(stderr, "%.*s: %s %s\n%.*s -h lists the arguments\n", name, command.help, problem,
            argument, name, command.help);
    exit(2);
}

/* The letter of the next option; 0 when only other arguments are left. `letters` has all of them; a
 * colon stands behind each that takes a value. */
static inline int command_option(int argc, char **argv, const char *letters, const char *help) {
    const char *text = command.at < argc ? argv[command.at] : "";
    command.help = help;
    if (text[0] != '-' || text[1] == '\0') return 0;
    command.at++;
    if (strcmp(text, "--") == 0) return 0;
    if (strcmp(text, "-h") == 0 || strcmp(text, "--help") == 0) {
        fputs(help, stdout);
        exit(0);
    }
    const char *letter = text[1] == ':' ? NULL : strchr(letters, text[1]);
    bool takes_value = letter && letter[1] == ':';
    if (!letter || (!takes_value && text[2])) command_refuse("there is no option", text);
    command.value = text + 2;
    if (!takes_value || text[2]) return *letter;
    if (command.at == argc) command_refuse("a value is missing behind", text);
    command.value = argv[command.at++];
    return *letter;
}

/* The next argument, or NULL. */
static inline const char *command_next(int argc, char **argv) {
    return command.at < argc ? argv[command.at++] : NULL;
}

/* There must be no further argument. */
static inline void command_end(int argc, char **argv) {
    if (command.at < argc) command_refuse("this is one argument too many:", argv[command.at]);
}

/* A whole number within limits. `name` says in a message what it is for. */
static inline unsigned command_number(const char *name, const char *text, unsigned least,
                                      unsigned most) {
    char *end = NULL, problem[120];
    errno = 0;
    unsigned long n = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
    if (end && *end == '\0' && errno == 0 && n >= least && n <= most) return (unsigned)n;
    snprintf(problem, sizeof problem, "%s must be a whole number from %u to %u, and not", name,
             least, most);
    command_refuse(problem, *text ? text : "empty");
}

/* ---- how far it is ---- */

static struct progress {
    const char *what;
    double began;
    bool on_terminal;
    unsigned long long total;
    atomic_ullong done;
    atomic_int percent; /* as shown; -1: nothing yet */
} progress;

/* Shows nothing in the first half second, and nothing where stderr is no terminal. */
static inline void progress_begin(const char *what, unsigned long long total) {
    progress.what = what;
    progress.began = command_now();
    progress.on_terminal = isatty(STDERR_FILENO) != 0;
    progress.total = total > 0 ? total : 1;
    atomic_store(&progress.done, 0);
    atomic_store(&progress.percent, -1);
}

/* Any thread. */
static inline void progress_add(unsigned long long n) {
    if (!progress.on_terminal) return;
    unsigned long long done = n + atomic_fetch_add(&progress.done, n);
    int percent = (int)(100 * done / progress.total), shown = atomic_load(&progress.percent);
    if (percent <= shown || command_now() - progress.began < 0.5) return;
    if (atomic_compare_exchange_strong(&progress.percent, &shown, percent))
        fprintf(stderr, "\r%s %3d%% ", progress.what, percent);
}

static inline void progress_end(void) {
    if (atomic_load(&progress.percent) >= 0) fputs("\r\033[K", stderr);
}

/* ---- a file ---- */

struct whole_file {
    FILE *file;
    const char *path;
    char *part; /* what is written to, and renamed at the end; NULL: the path itself is */
};

/* A regular file is written beside its place and takes it at the end: nobody reads half of one, and
 * the old one outlives a failure. False: errno says why. */
static inline bool whole_file_open(struct whole_file *out, const char *path) {
    struct stat info;
    bool regular = stat(path, &info) != 0 || S_ISREG(info.st_mode);
    size_t size = strlen(path) + sizeof ".part" + 20; /* two processes may write to one path */
    *out = (struct whole_file){.path = path, .part = regular ? malloc(size) : NULL};
    if (out->part) snprintf(out->part, size, "%s.part%ld", path, (long)getpid());
    out->file = fopen(out->part ? out->part : path, "wb");
    if (!out->file) free(out->part);
    return out->file != NULL;
}

/* False: the file is not what it should be, and the path is as it was. errno says why. */
static inline bool whole_file_close(struct whole_file *out, bool complete) {
    if (ferror(out->file)) complete = false;
    if (fclose(out->file) != 0) complete = false;
#if defined(_WIN32) /* which does not replace */
    if (complete && out->part) remove(out->path);
#endif
    if (complete && out->part && rename(out->part, out->path) != 0) complete = false;
    int error = errno;
    if (!complete && out->part) remove(out->part);
    free(out->part);
    errno = error;
    return complete;
}
