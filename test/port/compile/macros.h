/* Names that headers of hosts define as macros. Here each is something that compiles nowhere, so wsq.h,
 * included after this, must use none of them. What the language defines comes before. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#undef NBBY
#undef linux
#undef unix
#undef i386
#undef mips
#undef sun
#undef vax
#undef arm
#undef sparc
#undef roundup
#undef howmany
#undef MIN
#undef MAX
#undef setbit
#undef clrbit
#undef isset
#undef isclr
#undef major
#undef minor
#undef makedev

/* Qt */
#define slots @
#define signals @
#define emit @
#define forever @

/* windows.h and what it brings */
#define near @
#define far @
#define small @
#define hyper @
#define interface @
#define IN @
#define OUT @
#define OPTIONAL @
#define CONST @
#define VOID @
#define ERROR @
#define NO_ERROR @
#define DELETE @
#define STRICT @
#define CALLBACK @
#define APIENTRY @
#define PASCAL @
#define DOMAIN @
#define OVERFLOW @
#define UNDERFLOW @
#define GetObject @
#define CreateWindow @
#define GetMessage @
#define SendMessage @
#define ABSOLUTE @
#define RELATIVE @
#define TRANSPARENT @
#define OPAQUE @
#define ALTERNATE @
#define WINDING @
#define THIS @

/* X11 */
#define None @
#define Bool @
#define Status @
#define True @
#define False @
#define Always @
#define Success @
#define Above @
#define Below @
#define Expose @
#define KeyPress @
#define FocusIn @
#define Unsorted @
#define Convex @
#define Complex @
#define YSorted @
#define Nonconvex @
#define CursorShape @
#define CurrentTime @
#define ParentRelative @
#define ControlMask @
#define ShiftMask @
#define LockMask @
#define NotUseful @
#define WhenMapped @
#define DoBlue @

/* curses */
#define OK @
#define ERR @
#define stdscr @

/* Arduino and other small machines */
#define B0 @
#define B1 @
#define B10 @
#define B110 @
#define HIGH @
#define LOW @
#define INPUT @
#define OUTPUT @
#define PI @
#define TWO_PI @
#define EULER @
#define DEFAULT @
#define EXTERNAL @
#define INTERNAL @
#define SERIAL @
#define DISPLAY @
#define boolean @
#define A0 @
#define D0 @
#define sbi @
#define F_CPU @

/* old macOS */
#define nil @
#define noErr @
#define pascal @

/* attributes under short names: kernels' headers, BSD, Apple */
#define unused @
#define used @
#define aligned @
#define packed @
#define cold @
#define hot @
#define pure @
#define weak @
#define alias @
#define noinline @
#define always_inline @
#define deprecated @
#define visibility @
#define section @
#define fallthrough @
#define naked @

/* kernels' headers, utilities */
#define BITS @
#define BITS_PER_LONG @
#define NBBY @
#define list @
#define bit @
#define bits @
#define u8 @
#define u16 @
#define u32 @
#define u64 @
#define s32 @
#define s64 @
#define current @

/* what gcc and clang define in gnu modes */
#define linux @
#define unix @
#define i386 @
#define mips @
#define sun @
#define vax @
#define arm @
#define sparc @

/* macros of habit */
#define YES @
#define NO @
#define ON @
#define OFF @
#define SUCCESS @
#define FAIL @
#define TEXT @
#define DEBUG @
#define INFO @
#define WARN @
#define WARNING @
#define FATAL @
#define elif @
#define repeat @
#define internal @
#define module @
#define quad @
#define KB @
#define MB @
#define GB @

/* Qt */
#define foreach(...) @
#define SIGNAL(...) @
#define SLOT(...) @

/* windows.h */
#define min(...) @
#define max(...) @
#define RGB(...) @
#define Yield(...) @
#define MAKEWORD(...) @
#define LOBYTE(...) @
#define HIBYTE(...) @

/* X11 */
#define DisplayString(...) @
#define ScreenOfDisplay(...) @
#define RootWindow(...) @

/* curses */
#define erase(...) @
#define clear(...) @
#define move(...) @
#define insert(...) @
#define refresh(...) @
#define timeout(...) @
#define getch(...) @
#define addch(...) @
#define echo(...) @
#define filter(...) @
#define border(...) @
#define box(...) @
#define scroll(...) @
#define instr(...) @
#define delch(...) @
#define insch(...) @
#define attron(...) @
#define attroff(...) @
#define standout(...) @
#define standend(...) @
#define getyx(...) @
#define getmaxyx(...) @
#define raw(...) @
#define nl(...) @
#define meta(...) @

/* Arduino */
#define abs(...) @
#define round(...) @
#define constrain(...) @
#define bitRead(...) @
#define bitSet(...) @
#define bitClear(...) @
#define bitWrite(...) @
#define lowByte(...) @
#define highByte(...) @
#define sq(...) @
#define radians(...) @
#define degrees(...) @
#define word(...) @
#define F(...) @
#define interrupts(...) @
#define noInterrupts(...) @
#define _BV(...) @

/* old macOS (AssertMacros.h) */
#define check(...) @
#define verify(...) @
#define require(...) @
#define ncheck(...) @
#define nverify(...) @
#define check_noerr(...) @
#define require_action(...) @
#define require_quiet(...) @
#define verify_action(...) @
#define debug_string(...) @
#define check_compile_time(...) @

/* BSD, Linux */
#define roundup(...) @
#define howmany(...) @
#define MIN(...) @
#define MAX(...) @
#define setbit(...) @
#define clrbit(...) @
#define isset(...) @
#define isclr(...) @
#define major(...) @
#define minor(...) @
#define makedev(...) @
#define likely(...) @
#define unlikely(...) @
#define container_of(...) @
#define barrier(...) @
#define READ_ONCE(...) @
#define WRITE_ONCE(...) @
#define cpu_relax(...) @
#define ARRAY_SIZE(...) @
#define typecheck(...) @

/* macros of habit */
#define ASSERT(...) @
#define VERIFY(...) @
#define until(...) @
#define unless(...) @
#define TRACE(...) @
#define LOG(...) @
#define CHECK(...) @
#define EXPECT(...) @
#define TEST(...) @
#define ensure(...) @
#define function(...) @
#define lambda(...) @
#define loop(...) @
#define swap(...) @
#define test(...) @
#define assume(...) @
#define unreachable(...) @
#define len(...) @
#define countof(...) @
#define alignup(...) @
