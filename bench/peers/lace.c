/* Lace (github.com/trolando/lace): not a Debian package; built when LACE names its sources. */
#include "work.h"

#include <lace.h>

#define ROOT(...) RUN(__VA_ARGS__)

static void start(void) {
    lace_start(peer_workers, 0);
}

static void stop(void) {
    lace_stop();
}

#include "arity.h"
