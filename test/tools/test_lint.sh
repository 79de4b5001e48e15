#!/bin/sh
# usage: test/tools/test_lint.sh
# The lint finds what it is there for: in copies of the header, each with one thing wrong.
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0
count=0

finds() { # what the lint shall say, sed command that does the wrong
    sed "$2" wsq.h >"$work/wsq.h"
    count=$((count + 1))
    if cmp -s wsq.h "$work/wsq.h"; then
        echo "FAIL  nothing in wsq.h matches: $2"
        failed=1
    elif ! sh test/tools/lint.sh "$work/wsq.h" 2>&1 | grep -q "$1"; then
        echo "FAIL  not found: $1 ($2)"
        failed=1
    fi
}

misses() { # what progress.sh shall say, sed command that takes a test out of its table
    sed "$2" test/progress/README.md >"$work/list"
    count=$((count + 1))
    if ! sh test/tools/progress.sh "$work/list" 2>&1 | grep -q "$1"; then
        echo "FAIL  not found: $1 ($2)"
        failed=1
    fi
}

finds 'contract: wsq_pool_workers has none' '/^\/\* This returns the number of the pool/d'
finds 'contract: WSQ_FOREVER has none' 's|^\(#define WSQ_FOREVER [A-Z0-9_]*\).*|\1|'
finds 'contract: WSQ_STEAL_LOST has no comment' 's|^\( *WSQ_STEAL_LOST\) */\*.*|\1|; s|^\( *WSQ_STEAL_EMPTY,\).*|\1|'
finds 'contract: wsq_config.stack_size has no comment' 's|^\( *size_t stack_size;\).*|\1|'
finds 'wsq_timer_set can return WSQ_ERR_FORKED' '/or the timer is set in another pool/{n;s/WSQ_ERR_FORKED: the/The/;}'
finds 'wsq_task_wait_for can return WSQ_ERR_TIMEOUT' 's/^ \* WSQ_ERR_TIMEOUT: the time was up first.*/ */'
finds 'wsq_group_init never returns WSQ_ERR_CLOSED' 's/^ \* WSQ_ERR_INVALID: an argument is NULL. \*\//& WSQ_ERR_CLOSED/; s/^\(.*\) \*\/ WSQ_ERR_CLOSED/\1 WSQ_ERR_CLOSED *\//'
finds 'wsq_submit can return WSQ_ERR_THREAD' 's/^    if (future == NULL) return WSQ_ERR_MEMORY;/    if (future == NULL) return WSQ_ERR_THREAD;/'
finds 'ghost: wsq_pool_run_two' 's/wsq_pool_run_one runs one task/wsq_pool_run_two runs one task/'
finds 'wsq_wake does not say who' '/^\/\* This makes a task that returned WSQ_PENDING/,/wsq_wake(/{s/thread//g; s/owner//g; s/caller//g; s/context//g; }'
finds 'ghost: WSQ_BLOCK_SIZES' 's/^ \*     WSQ_BLOCK_SIZE /&WSQ_BLOCK_SIZES /'
finds 'more than 100 columns' 's/^#define WSQ_LIFO_OFF.*/& /; s/^#define WSQ_H$/&                                                                                          /'
finds 'a relaxed operation without a reason' 's|/\* Relaxed: the barrier that follows orders it. \*/||'
finds 'relaxed because of a lock, but no lock is named' 's/wsqi_load_hint(&self->woken.lead)/wsqi_load_locked(\&self->woken.lead)/'
finds 'stands at no operation of its order' 's/wsqi_store_rel(&self->bottom, bottom + 1)/wsqi_store_rlx(\&self->bottom, bottom + 1)/'
finds 'has no prefix' 's/^static inline uint32_t wsqi_head_real/static inline uint32_t head_real/'
finds 'no section >>compose' 's/; see >>after \*\//; see >>compose *\//'
misses 'progress: no row 4z' 's/hangs 4a/hangs 4z/'
misses 'progress: row 14b of' 's/hangs 14b, //'
misses 'progress: no rule idle-tusk' 's/idle-task/idle-tusk/'
misses 'progress: the manual promises' '/^| 16 |/d'
finds '#if in the body' 's/^    wsqi_worker \*self = wsqi_local(pool);/#if 1/'
finds 'words: "likewise" stands 1 times' 's/^ \* wsq is a pool of threads/ * Likewise, wsq is a pool of threads/'
finds 'words: "to be had" stands' 's/^ \* >>words$/& to be had to be had to be had to be had to be had to be had to be had to be had/'
finds 'wsqi_overflow moves tasks, and does not notify' '/wsqi_overflow(wsqi_worker/,/^}/s/wsqi_notify_others(self);//'
finds 'wsqi_take_back moves tasks, and does not notify' '/^ \*   callers: /,/^ \*   nobody: /s/wsqi_take_back,//'
finds 'wsqi_wake_self changes S' '/^ \*   wsqi_wake_self /d'
finds 'wsq_group_then obliges nobody any more' '/^WSQ_API wsq_result wsq_group_then(.*{$/,/^}/s/wsqi_chain_push(/wsqi_chain_drop(/'

echo "      $count faults"
exit $failed
