# wsq is one header: copy wsq.h, and this file is not needed. `make help` lists the targets.
CC      ?= cc
CFLAGS  ?= -O2
CXXFLAGS ?= -O2
PREFIX  ?= /usr/local
INTO     = $(DESTDIR)$(PREFIX)
WARN     = -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wcast-align -Wstrict-prototypes
B       ?= build
$(if $(word 2,$(B)),$(error B, the folder for what is built, must not have a space))
SOAK    ?= 5e7
CORES   := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
MAKE_J   = $(MAKE) --no-print-directory -j$(CORES)
COMPILE  = $(CC) $(WARN) -D_GNU_SOURCE $(STATIC) $(CPPFLAGS) $(CFLAGS) $(O) $(EXTRA) -pthread

HEADERS  = wsq.h $(wildcard */*.h */*/*.h) $(LAYER)
TESTS    = $(patsubst %.c,$(B)/%,$(wildcard test/test_*.c) \
             $(filter-out %/soak.c,$(wildcard test/stress/*.c))) $(call variants,test/test_) $(B)/test/test_io_uring
EXPLORE  = $(patsubst %.c,$(B)/%,$(wildcard test/explore/explore_*.c)) $(call variants,test/explore/)
# One source, another program: the source, what the program's name adds to it, what it is compiled with.
VARIANTS = test/test_atomic:_std:-DWSQ_FORCE_STDATOMIC \
           test/test_ring:2:-DWSQ_RING_CAPACITY=2:-DWSQ_RING_START=0xfffffffdu \
           test/test_ring:4:-DWSQ_RING_CAPACITY=4:-DWSQ_RING_START=0xfffffffau \
           test/test_forkjoin:_public:-DWSQ_PUBLISH_ALWAYS \
           test/test_forkjoin:_small:-DWSQ_BLOCK_SIZE=8192 \
           test/test_parallel:_public:-DWSQ_PUBLISH_ALWAYS \
           test/test_limits:_release:-DNDEBUG \
           test/test_io:_poll:-DWSQ_IO_POLL \
           test/explore/explore_ring:4:-DWSQ_RING_CAPACITY=4 \
           test/progress/oracle:2:-DWSQ_RING_CAPACITY=2:-DWSQI_MANY_THREADS=0u \
           test/progress/oracle:8:-DWSQ_RING_CAPACITY=8:-DWSQI_MANY_THREADS=0u
URING    = $(shell echo 'int main(void) { return 0; }' | $(CC) -x c -include liburing.h - -luring -o /dev/null 2>/dev/null && echo -luring)
words    = $(subst :, ,$(1))
name     = $(subst $() ,,$(wordlist 1,2,$(words)))
flags    = $(wordlist 3,9,$(words)) -DTEST_VARIANT=$(word 2,$(words))
variants = $(foreach v,$(filter $(1)%,$(VARIANTS)),$(B)/$(call name,$(v)))
BENCHES  = $(patsubst %.c,$(B)/%,$(wildcard bench/*.c)) $(call cpp,bench/*.cpp)
# A thousand cores on one: the questions, and benchmarks as they stand, in virtual time.
SIM      = $(patsubst %,$(B)/bench/sim/%,questions litmus published regress)
VIRTUAL  = $(patsubst %,$(B)/bench/virtual/%,fib skynet spawn ring deque uts wake)
EXAMPLES = $(patsubst %.c,$(B)/%,$(wildcard examples/*.c examples/recipes/*.c)) \
           $(call cpp,examples/*.cpp)
LAYER    = $(wildcard examples/*.hpp) examples/wsq_io.h
cpp      = $(if $(shell command -v $(CXX) 2>/dev/null),$(patsubst %.cpp,$(B)/%,$(wildcard $(1))))
# When tasks run, in virtual time.
PROGRESS = $(patsubst %,$(B)/test/progress/%,hangs exact exact_calls exact_permits exact_events exact_soon exact_moves exact_waits exact_looks exact_passes exact_wakes exact_here exact_jobs exact_stop oracle)
ORACLES  = $(call variants,test/progress/)
# Also on mutexes and conditions: whatever sleeps.
PTHREAD  = $(patsubst %,$(B)/pthread/test/%,$(addprefix test_,corners faults fork guest host idle pool \
             shutdown standin system timer) stress/programs)
# Also without assertions, where other moments coincide.
RELEASE  = $(patsubst $(B)/%,$(B)/release/%,$(PROGRESS))

all: $(EXAMPLES) $(BENCHES) $(TESTS) $(EXPLORE) ## build everything into build/

demo: $(B)/examples/mandelbrot ## render a picture on every core: build/mandelbrot.png
	$< -o $(B)/mandelbrot.png

examples: $(EXAMPLES) ## build only the examples

test: ## build and run the tests, two minutes on two cores; the last line is "N passed, N failed"
	@$(MAKE_J) -s $(PROGRESS) $(ORACLES) $(TESTS) $(EXPLORE) $(B)/test/stress/soak
	@WSQ_SOAK=$(SOAK) sh test/run.sh $(PROGRESS) $(ORACLES) $(TESTS) $(B)/test/stress/soak $(EXPLORE)

test-more: ## what make test leaves out: the compile matrix, warnings, mutexes, release builds, longer explorations
	@$(MAKE_J) -s $(PTHREAD) $(RELEASE) $(EXPLORE)
	@WSQ_SCALE=$${WSQ_SCALE:-1} sh test/run.sh --compile 'gcc clang' --warnings $(PTHREAD) $(RELEASE) $(EXPLORE)

test-examples: ## the examples' own tests; some need curl, wrk, chromium, python3 or mpicc
	@$(MAKE_J) -s $(EXAMPLES) $(B)/test/examples/httpd_client $(call cpp,test/examples/*.cpp)
	@B='$(B)' sh test/run.sh $(wildcard test/*/test_*.sh)

hangs: $(B)/test/progress/hangs ## programs of a few lines that must not hang, in virtual time
	@$<

oracle: $(B)/test/progress/oracle ## random programs, in virtual time: does every task run when it could?
	@$<

check-headers: ## only the compile matrix: C99 to C++20, gcc and clang
	@sh test/run.sh --compile 'gcc clang' --warnings

matrix: ## test platforms and languages, one line each; ROWS='musl wasm': only these
	@sh test/tools/matrix.sh $(ROWS)

docs: ## make the reference page, one file: build/docs/index.html
	@mkdir -p $(B)/docs
	sh examples/docs/page.sh > $(B)/docs/index.html

install: ## install the headers, wsq.pc and wsqConfig.cmake under DESTDIR and PREFIX
	install -d "$(INTO)/include" "$(INTO)/lib/pkgconfig" "$(INTO)/lib/cmake/wsq"
	install -m 644 wsq.h $(LAYER) "$(INTO)/include"
	install -m 644 examples/packaging/cmake/wsqConfig*.cmake "$(INTO)/lib/cmake/wsq"
	@version=$$(sed -n '1s/.*version \([0-9.]*\).*/\1/p' wsq.h) && printf '%s\n' \
	    "prefix=$$(printf '%s' '$(PREFIX)' | sed 's/[ \\]/\\&/g')" '' \
	    'Name: wsq' 'Description: Work-stealing scheduler, one C header' "Version: $$version" \
	    'Cflags: -I$${prefix}/include -pthread' 'Libs: -pthread' > "$(INTO)/lib/pkgconfig/wsq.pc"

uninstall: ## remove the files that install has put there
	rm -f "$(INTO)/include/wsq.h" $(patsubst examples/%,"$(INTO)/include/%",$(LAYER))
	rm -f "$(INTO)/lib/pkgconfig/wsq.pc" "$(INTO)"/lib/cmake/wsq/wsqConfig*.cmake
	[ ! -d "$(INTO)/lib/cmake/wsq" ] || rmdir "$(INTO)/lib/cmake/wsq"

bench: ## build and run every benchmark, some minutes
	@$(MAKE_J) -s $(BENCHES)
	@for b in $(filter-out %/counts,$(BENCHES)); do $$b || exit 1; done

bench-peers: ## compare wsq with every peer that is installed: table, CSV, plots in build/peers
	@CC='$(CC)' CFLAGS='$(CFLAGS)' sh bench/peers/run.sh $(B)/peers

bench-programs: ## measure whole programs by hyperfine, start and end of the pool included
	@CC='$(CC)' CFLAGS='$(CFLAGS)' sh bench/programs.sh $(B)/peers

bench-counts: $(B)/bench/counts ## compare the instructions of the hot paths with bench/counts.txt
	@CC='$(CC)' sh bench/counts.sh $<

bench-servers: $(B)/examples/httpd $(B)/examples/echo ## compare servers on wsq with nginx, Go, Tokio, libuv, asio: one client for all
	@CC='$(CC)' CFLAGS='$(CFLAGS)' sh bench/servers.sh $(B)

bench-size: ## measure the bytes that wsq adds to a program, with various options
	@CC='$(CC)' sh bench/size.sh $(B)/size

sim: $(SIM) ## simulate 1 to 128 cores in two minutes: tables here, CSV and plots in build/sim
	@CC='$(CC)' sh bench/sim/run.sh $(B) -q

sim-all: $(SIM) ## simulate every machine, up to 1024 cores, in about ten minutes
	@CC='$(CC)' sh bench/sim/run.sh $(B)

sim-test: $(SIM) ## test the rules of the simulated machine, and the efficiency on 64 to 512 cores against a table
	@$(B)/bench/sim/litmus && $(B)/bench/sim/published && $(B)/bench/sim/regress bench/sim/efficiency.txt

sim-table: $(SIM) ## write that table anew
	@$(B)/bench/sim/regress -w bench/sim/efficiency.txt

sim-trust: $(VIRTUAL) $(BENCHES) ## run benchmarks here and simulated, side by side
	@sh bench/sim/trust.sh $(B)/bench $(B)/bench/virtual

mutate: ## weaken wsq.h in one place after the other; the tests must notice. MUTANTS='R3 J5': only these
	@CC='$(CC)' sh test/tools/mutate.sh $(MUTANTS)

mutate-rules: ## the same by rule, a sample: RULES='-n 20 -s 1 idle' (mutants, seed, sections of wsq.h)
	@CC='$(CC)' sh test/tools/rules.sh $(RULES)

figures: ## count how simple the header is: lines, fields, locks, states, each beside its aim
	@sh test/tools/figures.sh

memcheck analyze coverage fuzz model: ## valgrind; gcc -fanalyzer, clang-tidy, cppcheck; gcovr; libFuzzer; GenMC
	@CC='$(CC)' sh test/tools/check.sh $@

check-all: ## run everything: all tests, the sanitizers, a million random programs, 10^9 tasks and jobs
	@failed=; for t in test test-more test-examples asan ubsan tsan msan memcheck analyze coverage fuzz model mutate; do \
	    echo "# $$t"; $(MAKE) --no-print-directory $$t SOAK=1e9 || failed="$$failed $$t"; done; \
	echo '# programs'; WSQ_SCALE=125 $(B)/test/stress/programs || failed="$$failed programs"; \
	echo '# longer'; WSQ_SCALE=10 sh test/run.sh $(TESTS) $(EXPLORE) || failed="$$failed longer"; \
	for c in spin turns 'hooks list'; do echo "# $$c"; WSQ_CONFIG="$$c" sh test/run.sh $(EXPLORE) || failed="$$failed $$c"; done; \
	echo "failed:$${failed:- nothing}"; [ -z "$$failed" ]

asan: SAN = -g -O1 -fsanitize=address
ubsan: SAN = -g -O1 -fsanitize=undefined -fno-sanitize-recover=all
tsan: SAN = -g -O1 -fsanitize=thread
msan: SAN = -g -O1 -fsanitize=memory -fno-omit-frame-pointer -DTEST_SLOWDOWN=20
msan: CC = clang
asan ubsan tsan msan: ## run the tests under a sanitizer
	@mkdir -p build && echo 'int main(void) { return 0; }' > build/$@.c
	@if $(CC) $(SAN) build/$@.c -o build/$@.probe 2>/dev/null && build/$@.probe; then \
	    $(MAKE) --no-print-directory B=build/$@-$(firstword $(CC)) CC='$(CC)' EXTRA='$(SAN)' sanitized; \
	else echo "skip $@: $(CC) has no runtime for $(SAN)"; fi

# What a test does not call is not compiled, and the rest quickly: a third of -O2's time.
$(TESTS) $(PTHREAD) $(B)/test/stress/soak: STATIC = -DWSQ_STATIC
$(TESTS) $(PTHREAD) $(EXPLORE) $(PROGRESS) $(ORACLES) $(RELEASE): O = -Og
$(B)/test/progress/oracle: O = -O2

sanitized:
	@$(MAKE_J) -s $(TESTS)
	@sh test/run.sh $(TESTS)

$(B)/pthread/%: %.c $(HEADERS) Makefile
	@mkdir -p $(@D)
	$(COMPILE) -DWSQ_FORCE_PTHREAD $< -o $@ $(LDFLAGS) -lm

$(B)/release/%: %.c $(HEADERS) Makefile
	@mkdir -p $(@D)
	$(COMPILE) -DNDEBUG $< -o $@ $(LDFLAGS) -lm

$(B)/test/test_io_uring: test/test_io.c $(HEADERS) Makefile
	@mkdir -p $(@D)
	$(COMPILE) -DWSQ_IO_URING -DTEST_VARIANT=_uring $< -o $@ $(LDFLAGS) $(URING) -lm

$(B)/test/%: test/%.c $(HEADERS) Makefile
	@mkdir -p $(@D)
	$(COMPILE) $< -o $@ $(LDFLAGS) -lm

define variant
$(B)/$(call name,$(1)): $(firstword $(words)).c $(HEADERS) Makefile
	@mkdir -p $$(@D)
	$$(COMPILE) $(call flags,$(1)) $$< -o $$@ $$(LDFLAGS) -lm
endef
$(foreach v,$(VARIANTS),$(eval $(call variant,$(v))))

variants: # for the scripts: each program, its source, its flags
	@printf '%s\n' $(foreach v,$(VARIANTS),'$(call name,$(v)) $(firstword $(subst :, ,$(v))).c $(call flags,$(v))')

$(B)/bench/virtual/%: bench/%.c $(HEADERS) Makefile
	@mkdir -p $(@D)
	$(COMPILE) -Wno-unused -DNDEBUG -DBENCH_FLAGS='"simulated"' \
	    -include bench/sim/virtual.h $< -o $@ $(LDFLAGS) -lm

$(B)/bench/%: bench/%.c $(HEADERS) Makefile
	@mkdir -p $(@D)
	$(COMPILE) -DNDEBUG -DBENCH_FLAGS='"$(CFLAGS) -DNDEBUG"' $< -o $@ $(LDFLAGS) -lm

$(B)/examples/%: NDEBUG = -DNDEBUG
$(B)/examples/11_lambda: CXX_STD = c++11
$(B)/examples/12_coroutine $(B)/test/examples/test_await: CXX_STD = c++20
CXX_STD  = c++17
CXX_HAS  = $(if $(filter %20,$(CXX_STD)),<coroutine>\nstd::suspend_never it;,<new>)

# Recipes that say what they miss where a package is not installed.
package  = $(shell pkg-config $(1) $(2) 2>/dev/null | sed 's/-I/-isystem /g')
$(B)/examples/recipes/uv: LDFLAGS += $(or $(call package,--libs,libuv),$(if $(wildcard /usr/include/uv.h),-luv))
$(B)/examples/recipes/glib: CPPFLAGS += $(call package,--cflags,glib-2.0)
$(B)/examples/recipes/glib: LDFLAGS += $(call package,--libs,glib-2.0)

$(B)/%: %.cpp $(HEADERS) Makefile
	@mkdir -p $(@D)
	@if printf '#include $(CXX_HAS)\n' | $(CXX) -std=$(CXX_STD) -fsyntax-only -x c++ - 2>$@.log; \
	then $(CXX) -std=$(CXX_STD) -Wall -Wextra -Wpedantic -Wshadow $(NDEBUG) $(CPPFLAGS) $(CXXFLAGS) \
	    $(EXTRA) -pthread $< -o $@ $(LDFLAGS); \
	else echo "skip $<: $(CXX) has no $(CXX_STD)"; fi

$(B)/%: %.c $(HEADERS) Makefile
	@mkdir -p $(@D)
	$(COMPILE) -DNDEBUG $< -o $@ $(LDFLAGS) -lm

clean: ## remove build/
	rm -rf build

help:
	@grep -hE '^[a-z -]+:.*##' Makefile | sed -E 's/:.*## /: /'

.PHONY: all demo examples test hangs oracle test-examples check-all check-headers matrix docs install uninstall memcheck analyze coverage fuzz \
    model mutate mutate-rules figures bench bench-peers bench-programs bench-counts bench-servers bench-size sim sim-all sim-test sim-table sim-trust \
    asan ubsan tsan msan sanitized variants clean help
