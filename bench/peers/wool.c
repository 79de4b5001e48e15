/* Wool (github.com/kffaxen/wool): not a Debian package; built when WOOL names its sources. */
#include "work.h"

#include <wool.h>

#define ROOT(...) CALL(__VA_ARGS__)

static void start(void) {
    static char program[] = "wool", option[] = "-p", count[16];
    static char *arguments[] = {program, option, count, NULL};
    snprintf(count, sizeof count, "%u", peer_workers);
    wool_init(3, arguments);
}

static void stop(void) {
    wool_fini();
}

#include "arity.h"
