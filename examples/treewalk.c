/* Walk a directory tree on every core: total size, and the largest files.
 *     cc -O2 -pthread treewalk.c -o treewalk && ./treewalk .
 *
 * Every directory is a spawned task that spawns one for each directory in it. A task frees itself
 * and returns WSQ_GONE, so nobody keeps a list of them; wsq_pool_wait waits for all. */
#define WSQ_IMPLEMENTATION
#include "../wsq.h"
#include "command.h"
#include <dirent.h>
#include <fcntl.h>

enum { LARGEST = 10 };

struct file {
    uint64_t size;
    char *path;
};

/* One per thread of the pool, so that adding up needs no lock. */
struct tally {
    uint64_t bytes, files, directories, errors;
    struct file largest[LARGEST]; /* descending */
    char apart[WSQ_CACHELINE];    /* so that workers do not slow each other down */
};

static struct tally *tallies;

struct directory {
    wsq_task task;
    char path[];
};

static wsq_poll visit(wsq_ctx ctx, wsq_task *task);

/* ---- the file system ---- */

#ifdef _WIN32
static DIR *open_directory(const char *path) {
    return opendir(path);
}

static bool inspect(DIR *dir, const char *path, const char *name, struct stat *info) {
    char full[4096];
    (void)dir;
    snprintf(full, sizeof full, "%s/%s", path, name);
    return stat(full, info) == 0;
}
#else
/* O_NOFOLLOW: a link that has taken the directory's place since is an error, not a detour. */
static DIR *open_directory(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    int error = errno;
    if (!dir && fd >= 0) close(fd);
    errno = error;
    return dir;
}

static bool inspect(DIR *dir, const char *path, const char *name, struct stat *info) {
    (void)path;
    return fstatat(dirfd(dir), name, info, AT_SYMLINK_NOFOLLOW) == 0;
}
#endif

/* ---- the walk ---- */

/* Overwritten again and again; on a terminal only. About ten times a second. */
static void show_progress(const char *path) {
    static atomic_int shown;
    int tenth = (int)(10 * (command_now() - progress.began)), last = atomic_load(&shown);
    if (!progress.on_terminal || tenth < 5 || tenth == last) return;
    if (atomic_compare_exchange_strong(&shown, &last, tenth))
        fprintf(stderr, "\r%.70s\033[K", path);
}

static void complain(struct tally *tally, const char *path, int error) {
    tally->errors++;
    fprintf(stderr, "treewalk: %s: %s\n", path, strerror(error));
}

static char *join_path(const char *directory, const char *name, size_t room) {
    size_t length = strlen(directory);
    const char *slash = length > 0 && directory[length - 1] == '/' ? "" : "/";
    size_t size = room + length + strlen(name) + 2;
    char *memory = malloc(size);
    if (memory) snprintf(memory + room, size - room, "%s%s%s", directory, *name ? slash : "", name);
    return memory;
}

static void spawn_directory(wsq_pool *pool, struct tally *tally, const char *parent,
                            const char *name) {
    size_t room = offsetof(struct directory, path);
    struct directory *directory = (void *)join_path(parent, name, room);
    if (!directory) {
        complain(tally, name, ENOMEM);
        return;
    }
    wsq_task_init(&directory->task, visit);
    wsq_spawn(pool, &directory->task);
}

/* Takes the path. The smallest of the list falls out at its end. */
static void keep_largest(struct tally *tally, uint64_t size, char *path) {
    struct file *list = tally->largest;
    int at = LARGEST - 1;
    if (list[at].path && list[at].size >= size) {
        free(path);
        return;
    }
    free(list[at].path);
    for (; at > 0 && (!list[at - 1].path || list[at - 1].size < size); at--) {
        list[at] = list[at - 1];
    }
    list[at] = (struct file){size, path};
}

static void count_file(struct tally *tally, const char *directory, const char *name,
                       uint64_t size) {
    const struct file *least = &tally->largest[LARGEST - 1];
    tally->files++;
    tally->bytes += size;
    if (least->path && least->size >= size) return;
    char *path = join_path(directory, name, 0);
    if (path) keep_largest(tally, size, path);
    else complain(tally, name, ENOMEM);
}

static void count_entry(wsq_pool *pool, struct tally *tally, DIR *dir, const char *path,
                        const char *name) {
    struct stat info;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return;
    if (!inspect(dir, path, name, &info)) {
        int error = errno;
        char *full = join_path(path, name, 0);
        complain(tally, full ? full : name, error);
        free(full);
    } else if (S_ISDIR(info.st_mode)) {
        spawn_directory(pool, tally, path, name);
    } else {
        count_file(tally, path, name, S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0);
    }
}

static wsq_poll visit(wsq_ctx ctx, wsq_task *task) {
    struct directory *self = wsq_container_of(task, struct directory, task);
    struct tally *tally = &tallies[wsq_worker_index(ctx)];
    struct dirent *entry;
    DIR *dir = open_directory(self->path);
    if (!dir) {
        complain(tally, self->path, errno);
        free(self);
        return WSQ_GONE;
    }
    tally->directories++;
    show_progress(self->path);
    while (errno = 0, (entry = readdir(dir)) != NULL) {
        count_entry(wsq_pool_of(ctx), tally, dir, self->path, entry->d_name);
    }
    if (errno != 0) complain(tally, self->path, errno);
    closedir(dir);
    free(self);
    return WSQ_GONE;
}

static void add_up(struct tally *sum, struct tally *part) {
    sum->bytes += part->bytes;
    sum->files += part->files;
    sum->directories += part->directories;
    sum->errors += part->errors;
    for (int i = 0; i < LARGEST && part->largest[i].path; i++) {
        keep_largest(sum, part->largest[i].size, part->largest[i].path);
    }
}

static void print(const struct tally *sum) {
    printf("%llu bytes in %llu files, %llu directories, %llu errors\n",
           (unsigned long long)sum->bytes, (unsigned long long)sum->files,
           (unsigned long long)sum->directories, (unsigned long long)sum->errors);
    for (int i = 0; i < LARGEST && sum->largest[i].path; i++) {
        printf("%16llu  %s\n", (unsigned long long)sum->largest[i].size, sum->largest[i].path);
    }
}

static const char help[] =
    "treewalk [directory...]\n"
    "Adds up the sizes of all files below the directories (.), and lists the largest ten.\n";

int main(int argc, char **argv) {
    wsq_pool *pool;
    struct tally sum = {0};
    while (command_option(argc, argv, "h", help)) {}
    if (wsq_pool_create(&pool, NULL) != WSQ_OK) return 1;
    unsigned threads = wsq_pool_slots(pool); /* that may work, now or later */
    tallies = calloc(threads, sizeof *tallies);
    if (!tallies) return 1;

    progress_begin("", 0);
    if (command.at == argc) spawn_directory(pool, &sum, ".", "");
    while (command.at < argc) spawn_directory(pool, &sum, argv[command.at++], "");
    wsq_pool_wait(pool);
    wsq_pool_destroy(pool);
    if (progress.on_terminal) fputs("\r\033[K", stderr);

    for (unsigned i = 0; i < threads; i++) add_up(&sum, &tallies[i]);
    print(&sum);
    for (int i = 0; i < LARGEST; i++) free(sum.largest[i].path);
    free(tallies);
    return sum.errors == 0 ? 0 : 1;
}
