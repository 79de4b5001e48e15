# The version is that of the header: WSQ_VERSION is major * 1000000 + minor * 1000 + patch. What asks
# for an older version of the same major number is content.
get_filename_component(wsq_prefix "${CMAKE_CURRENT_LIST_DIR}" REALPATH) # /lib may be a link
foreach(wsq_level RANGE 3)
    if(EXISTS "${wsq_prefix}/include/wsq.h")
        break()
    endif()
    get_filename_component(wsq_prefix "${wsq_prefix}" DIRECTORY)
endforeach()
if(NOT EXISTS "${wsq_prefix}/include/wsq.h")
    set(PACKAGE_VERSION_UNSUITABLE TRUE)
    return()
endif()
file(STRINGS "${wsq_prefix}/include/wsq.h" wsq_line
    REGEX "^#define WSQ_VERSION [0-9]+" LIMIT_COUNT 1)
string(REGEX MATCH "[0-9]+" wsq_number "${wsq_line}")
math(EXPR wsq_major "${wsq_number} / 1000000")
math(EXPR wsq_minor "${wsq_number} / 1000 % 1000")
math(EXPR wsq_patch "${wsq_number} % 1000")
set(PACKAGE_VERSION "${wsq_major}.${wsq_minor}.${wsq_patch}")

set(PACKAGE_VERSION_COMPATIBLE FALSE)
set(PACKAGE_VERSION_EXACT FALSE)
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
endif()
if(PACKAGE_FIND_VERSION_MAJOR EQUAL wsq_major AND NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
