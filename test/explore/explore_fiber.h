/* explore_fiber.h - switching between stacks on one thread, for explore.h.
 *
 *   explore_context_make(context, stack, size, entry)  entry runs at the first switch; never ends
 *   explore_context_switch(from, to)                   goes on with `to`, until another fiber comes back
 *   explore_context_top(context)                       stack pointer of a context that does not run
 */
#ifndef EXPLORE_FIBER_H
#define EXPLORE_FIBER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && !defined(EXPLORE_UCONTEXT) && !defined(_WIN32)

enum { explore_knows_top = 1 };

typedef struct explore_context { void *top; } explore_context;

void explore_swap(void **from, void *to) __asm__("explore_swap");

/* The registers that a function must keep (System V), and the stack pointer. */
__asm__(".text\n"
        ".weak explore_swap\n" /* several files may bring it */
        "explore_swap:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    retq\n");

static inline void explore_context_make(explore_context *context, void *stack, size_t size,
                                        void (*entry)(void)) {
    void **top = (void **)(((uintptr_t)stack + size) & ~(uintptr_t)15);
    *--top = NULL; /* the return address of entry: keeps its frame aligned as after a call */
    *--top = (void *)(uintptr_t)entry;
    for (int i = 0; i < 6; i++) *--top = NULL;
    context->top = top;
}

static inline void explore_context_switch(explore_context *from, explore_context *to) {
    explore_swap(&from->top, to->top);
}

static inline uintptr_t explore_context_top(const explore_context *context) {
    return (uintptr_t)context->top;
}

#elif defined(__aarch64__) && !defined(EXPLORE_UCONTEXT) && !defined(_WIN32)

enum { explore_knows_top = 1 };

typedef struct explore_context { void *top; } explore_context;

void explore_swap(void **from, void *to) __asm__("explore_swap");

/* x19-x30 and d8-d15 (AAPCS64), and the stack pointer. */
__asm__(".text\n"
        ".weak explore_swap\n" /* several files may bring it */
        ".p2align 2\n"
        "explore_swap:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n");

static inline void explore_context_make(explore_context *context, void *stack, size_t size,
                                        void (*entry)(void)) {
    char *top = (char *)(((uintptr_t)stack + size) & ~(uintptr_t)15) - 160;
    uintptr_t link = (uintptr_t)entry;
    memset(top, 0, 160);
    memcpy(top + 88, &link, sizeof link); /* x30 */
    context->top = top;
}

static inline void explore_context_switch(explore_context *from, explore_context *to) {
    explore_swap(&from->top, to->top);
}

static inline uintptr_t explore_context_top(const explore_context *context) {
    return (uintptr_t)context->top;
}

#else
#include <ucontext.h>

enum { explore_knows_top = 0 }; /* so use of a dead frame is not noticed */

typedef struct explore_context {
    ucontext_t machine;
} explore_context;

static inline void explore_context_make(explore_context *context, void *stack, size_t size,
                                        void (*entry)(void)) {
    getcontext(&context->machine);
    context->machine.uc_stack.ss_sp = stack;
    context->machine.uc_stack.ss_size = size;
    context->machine.uc_link = NULL;
    makecontext(&context->machine, entry, 0);
}

static inline void explore_context_switch(explore_context *from, explore_context *to) {
    swapcontext(&from->machine, &to->machine);
}

static inline uintptr_t explore_context_top(const explore_context *context) {
    (void)context;
    return 0;
}
#endif

#endif /* EXPLORE_FIBER_H */
