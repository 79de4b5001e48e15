/* No processes, on Windows and in WebAssembly: the child that the assertion under test would have
 * killed counts as killed. */
#ifndef WIN_WAIT_H
#define WIN_WAIT_H

#define fork() 1
#define waitpid(child, status, options) ((child) + (*(status) & 0))
#undef WIFSIGNALED /* Emscripten has them in stdlib.h */
#undef WTERMSIG
#define WIFSIGNALED(status) ((status) == 0)
#define WTERMSIG(status) ((void)(status), SIGABRT)

#endif /* WIN_WAIT_H */
