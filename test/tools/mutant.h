/* mutant.h - what rules.sh includes before all else in a program: all mutants are in it, and the one that
 * WSQ_MUTANT names is there. What was reached is written to the file WSQ_REACHED, a byte for each. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WSQI_MUTANTS = 8192 };

static unsigned char wsqi_reached_here[WSQI_MUTANTS], *wsqi_reached = wsqi_reached_here;
static int wsqi_mutant;

#define WSQI_MUTANT(number) (wsqi_reached[number] = 1, wsqi_mutant == (number))

__attribute__((constructor)) static void wsqi_mutant_begin(void) {
    const char *number = getenv("WSQ_MUTANT"), *path = getenv("WSQ_REACHED");
    if (number != NULL) wsqi_mutant = atoi(number);
    int file = path != NULL ? open(path, O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
    if (file < 0) return;
    if (ftruncate(file, WSQI_MUTANTS) == 0) {
        void *bytes = mmap(NULL, WSQI_MUTANTS, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (bytes != MAP_FAILED) wsqi_reached = (unsigned char *)bytes;
    }
    close(file);
}
