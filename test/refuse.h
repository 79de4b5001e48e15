/* refuse.h - sends what a pool asks of the system to functions of counted.h, which can refuse. Include it
 * before wsq.h, and counted.h after it. */
#ifndef TEST_REFUSE_H
#define TEST_REFUSE_H

#include "test.h"

/* Whatever the pool asks of the system goes through a counter that can say no. */
int test_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*fn)(void *), void *arg);
int test_join(pthread_t thread, void **result);
int test_attr_init(pthread_attr_t *attributes);
int test_attr_destroy(pthread_attr_t *attributes);
int test_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes);
int test_mutex_destroy(pthread_mutex_t *mutex);
int test_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes);
int test_cond_destroy(pthread_cond_t *condition);
static void *test_malloc(size_t size);
static void test_free(void *memory);

#define pthread_create test_create
#define pthread_join test_join
#define pthread_attr_init test_attr_init
#define pthread_attr_destroy test_attr_destroy
#define pthread_mutex_init test_mutex_init
#define pthread_mutex_destroy test_mutex_destroy
#define pthread_cond_init test_cond_init
#define pthread_cond_destroy test_cond_destroy
#define WSQ_MALLOC(size) test_malloc(size)
#define WSQ_FREE(pointer) test_free(pointer)

#endif /* TEST_REFUSE_H */
