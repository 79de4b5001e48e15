/* balance.h: ranks that share out work of unknown size, by messages. A rank without work asks
 * another one, at random, and that one answers with what it can spare, or with nothing. This file
 * knows neither wsq nor threads: one thread at a time calls it.
 *
 * The end is found by Safra's algorithm (Dijkstra, EWD998, 1987). Each rank counts the gifts that
 * it has sent minus those that it has received, and is black once it has received one. A token goes
 * round; a rank passes it on only while it is dry, adds its count, makes the token black if it is
 * black itself, and is white then. When a white token comes back to a white and dry rank 0 and all
 * counts add up to 0, no rank has work and no gift is under way. Questions and empty answers do not
 * count: they make nobody active.
 *
 * Nobody leaves while another rank may still ask: after the end each rank waits for its last answer,
 * enters a non-blocking barrier, and goes on answering until that is complete. */
enum {
    BALANCE_NODES = 1024,     /* at most, in one answer: 24 KiB */
    BALANCE_FIRST_NS = 20000, /* after a refusal, before the next question; then twice as long... */
    BALANCE_LAST_NS = 1000000 /* ...up to this */
};

enum balance_tag { BALANCE_ASK, BALANCE_WORK, BALANCE_TOKEN, BALANCE_STOP };

/* To one rank, which does not ask again before it has this. */
struct balance_answer {
    MPI_Request request;
    uint32_t *words;
};

typedef struct balance {
    MPI_Comm comm;
    int rank, ranks;
    uint32_t words[BALANCE_NODES * UTS_WORDS]; /* the message that was received last */
    int *thieves, thief_first, thief_count;    /* a ring: ranks that asked and have no answer */
    struct balance_answer *answers;
    MPI_Request ask, token, stop[2];
    bool asking, stopped, leaving;
    uint64_t pause_ns, ask_ns; /* the next question comes no sooner */
    uint64_t random;
    int64_t sent; /* gifts, minus those received */
    bool black, has_token, token_black;
    int64_t token_sum;
    uint32_t token_words[3]; /* as it is sent */
    bool probed;             /* rank 0: the token it has went round */
    uts_times *times;
} balance;

static void balance_begin(balance *self, uts_times *times) {
    memset(self, 0, sizeof *self);
    MPI_Comm_dup(MPI_COMM_WORLD, &self->comm);
    MPI_Comm_rank(self->comm, &self->rank);
    MPI_Comm_size(self->comm, &self->ranks);
    self->times = times;
    self->thieves = uts_allocate((size_t)self->ranks * sizeof *self->thieves);
    self->answers = uts_allocate((size_t)self->ranks * sizeof *self->answers);
    for (int i = 0; i < self->ranks; i++) self->answers[i].request = MPI_REQUEST_NULL;
    self->ask = self->token = self->stop[0] = self->stop[1] = MPI_REQUEST_NULL;
    self->pause_ns = BALANCE_FIRST_NS;
    self->random = 0x9e3779b97f4a7c15u * (uint64_t)(self->rank + 1);
    self->has_token = self->rank == 0;
}

/* One request is always out for the next message, whatever it is. */
static void balance_listen(balance *self, MPI_Request *request) {
    MPI_Irecv(self->words, BALANCE_NODES * UTS_WORDS, MPI_UINT32_T, MPI_ANY_SOURCE, MPI_ANY_TAG,
              self->comm, request);
}

/* Small messages. The one before it on this request was received long ago. */
static void balance_send(balance *self, MPI_Request *request, const uint32_t *words, int count,
                         int to, enum balance_tag tag) {
    MPI_Wait(request, MPI_STATUS_IGNORE);
    MPI_Isend(words, count, MPI_UINT32_T, to, tag, self->comm, request);
}

/* ---- the end ---- */

/* Down a tree of ranks. */
static void balance_stop(balance *self) {
    self->stopped = true;
    for (int i = 0; i < 2; i++) {
        int child = 2 * self->rank + 1 + i;
        if (child < self->ranks) balance_send(self, &self->stop[i], NULL, 0, child, BALANCE_STOP);
    }
}

static void balance_pass_token(balance *self) {
    uint32_t *words = self->token_words;
    uint64_t sum = (uint64_t)(self->token_sum + self->sent);
    MPI_Wait(&self->token, MPI_STATUS_IGNORE); /* before the words change */
    words[0] = self->token_black || self->black;
    words[1] = (uint32_t)sum;
    words[2] = (uint32_t)(sum >> 32);
    self->black = self->has_token = false;
    self->probed = self->rank == 0;
    self->times->probes++;
    balance_send(self, &self->token, words, 3, (self->rank + 1) % self->ranks, BALANCE_TOKEN);
}

/* This rank is dry and has the token. Rank 0 looks what it says, and sends a new one if need be,
 * which its own count joins only at the end. */
static void balance_handle_token(balance *self) {
    if (self->rank != 0) {
        balance_pass_token(self);
        return;
    }
    bool quiet = !self->token_black && !self->black && self->token_sum + self->sent == 0;
    if (self->ranks == 1 || (self->probed && quiet)) {
        balance_stop(self);
        return;
    }
    self->token_sum = -self->sent;
    self->token_black = self->black = false;
    balance_pass_token(self);
}

/* True: nothing is left to do but to wait for the others, in this barrier; once. */
static bool balance_leave(balance *self, bool dry, MPI_Request *barrier) {
    if (self->stopped && !dry) uts_die("the end was found too early");
    if (!self->stopped || self->asking || self->leaving || self->thief_count > 0) return false;
    self->leaving = true;
    MPI_Ibarrier(self->comm, barrier);
    return true;
}

/* After that barrier. `listening`: the request of balance_listen. */
static void balance_end(balance *self, MPI_Request *listening) {
    MPI_Cancel(listening);
    MPI_Wait(listening, MPI_STATUS_IGNORE);
    MPI_Wait(&self->ask, MPI_STATUS_IGNORE);
    MPI_Wait(&self->token, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++) MPI_Wait(&self->stop[i], MPI_STATUS_IGNORE);
    for (int i = 0; i < self->ranks; i++) {
        MPI_Wait(&self->answers[i].request, MPI_STATUS_IGNORE);
        free(self->answers[i].words);
    }
    free(self->answers);
    free(self->thieves);
    MPI_Comm_free(&self->comm);
}

/* ---- questions and answers ---- */

static int balance_received_work(balance *self, int words) {
    self->asking = false;
    if (words == 0) {
        self->pause_ns = self->pause_ns < BALANCE_LAST_NS ? 2 * self->pause_ns : BALANCE_LAST_NS;
        return 0;
    }
    self->sent--;
    self->black = true;
    self->pause_ns = BALANCE_FIRST_NS;
    return words / UTS_WORDS;
}

/* A message is here. Returns how many nodes it brought, in self->words until balance_listen. */
static int balance_receive(balance *self, const MPI_Status *status, uint64_t now) {
    int count;
    MPI_Get_count(status, MPI_UINT32_T, &count);
    switch (status->MPI_TAG) {
    case BALANCE_ASK:
        self->thieves[(self->thief_first + self->thief_count++) % self->ranks] = status->MPI_SOURCE;
        return 0;
    case BALANCE_WORK:
        self->ask_ns = now + self->pause_ns;
        return balance_received_work(self, count);
    case BALANCE_TOKEN:
        self->has_token = true;
        self->token_black = self->words[0] != 0;
        self->token_sum = (int64_t)((uint64_t)self->words[2] << 32 | self->words[1]);
        return 0;
    default: balance_stop(self); return 0;
    }
}

/* Answers the thief that has waited longest. */
static void balance_answer(balance *self, const uts_node *nodes, int count) {
    int thief = self->thieves[self->thief_first];
    struct balance_answer *answer = &self->answers[thief];
    size_t bytes = (size_t)count * sizeof *nodes;
    self->thief_first = (self->thief_first + 1) % self->ranks;
    self->thief_count--;
    MPI_Wait(&answer->request, MPI_STATUS_IGNORE); /* the thief has it, or would not ask again */
    free(answer->words);
    answer->words = count > 0 ? uts_allocate(bytes) : NULL;
    if (count > 0) {
        memcpy(answer->words, nodes, bytes);
        self->sent++;
        self->times->gifts++;
        self->times->given += count;
    }
    MPI_Isend(answer->words, count * UTS_WORDS, MPI_UINT32_T, thief, BALANCE_WORK, self->comm,
              &answer->request);
}

static void balance_question(balance *self) {
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    int other = (int)((self->random >> 33) % (uint64_t)(self->ranks - 1));
    self->asking = true;
    self->times->asks++;
    balance_send(self, &self->ask, NULL, 0, other < self->rank ? other : other + 1, BALANCE_ASK);
}

/* This rank is dry, and nobody waits for its answer. Returns after how many nanoseconds it wants to
 * be called again if nothing else happens; 0: it need not. */
static uint64_t balance_dry(balance *self, uint64_t now) {
    if (self->stopped) return 0;
    if (self->has_token) balance_handle_token(self);
    if (self->stopped || self->asking || self->ranks == 1) return 0;
    if (now < self->ask_ns) return self->ask_ns - now;
    balance_question(self);
    return 0;
}
