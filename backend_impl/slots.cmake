# How many tests run side by side. lab/host/native.py gives CTest two slots for every processor (by hand: ctest -j 4 on two): a test takes two of
# them, one that waits for most of its time takes one, so that processors have work while it waits and others, of which the outcome may be about
# time, are not crowded.
#
#   apir_take_slots(NAME...)   behind all tests of a folder: those of them that mostly wait; names that this build has not are passed over
#
# Tests of which the outcome is about time, and which wait for nearly all of theirs, come first, two at a time: no other one begins before their end.
set(APIR_WAITING_TESTS guest-pending guest-ring virgl-ring)
function(apir_take_slots)
  get_property(all DIRECTORY PROPERTY TESTS)
  set_tests_properties(${all} PROPERTIES PROCESSORS 2)
  set(others ${all})
  list(REMOVE_ITEM others ${APIR_WAITING_TESTS})
  set_tests_properties(${others} PROPERTIES DEPENDS "${APIR_WAITING_TESTS}")
  foreach(name ${ARGN})
    if(TEST ${name})
      set_tests_properties(${name} PROPERTIES PROCESSORS 1)
    endif()
  endforeach()
endfunction()
