# find_package(wsq) and target_link_libraries(program PRIVATE wsq::wsq). `make install` puts this into
# lib/cmake/wsq, package managers into share/wsq; the header is found from here, so the whole tree can be
# moved.
get_filename_component(wsq_prefix "${CMAKE_CURRENT_LIST_DIR}" REALPATH) # /lib may be a link
foreach(wsq_level RANGE 3)
    if(EXISTS "${wsq_prefix}/include/wsq.h")
        break()
    endif()
    get_filename_component(wsq_prefix "${wsq_prefix}" DIRECTORY)
endforeach()

include(CMakeFindDependencyMacro)
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_dependency(Threads)

if(NOT TARGET wsq::wsq)
    add_library(wsq::wsq INTERFACE IMPORTED)
    set_target_properties(wsq::wsq PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${wsq_prefix}/include"
        INTERFACE_LINK_LIBRARIES Threads::Threads)
endif()
unset(wsq_prefix)
