/* The implementation and nothing else. */
#define WSQ_IMPLEMENTATION
#include "../../../wsq.h"
