package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// yield lowers the priority of this process by so much. Threads have priorities of their own, and new ones that of the thread that starts them:
// twice over all of them reaches those that were started meanwhile.
func yield(by int) error {
	own, err := niceness(os.Getpid())
	if err != nil {
		return fmt.Errorf("priority: %w", err)
	}
	for range 2 {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return fmt.Errorf("priority: %w", err)
		}
		for _, task := range tasks {
			id, err := strconv.Atoi(task.Name())
			if err != nil {
				continue
			}
			if err := syscall.Setpriority(syscall.PRIO_PROCESS, id, own+by); err != nil && !errors.Is(err, syscall.ESRCH) { // that thread has ended
				return fmt.Errorf("priority: %w", err)
			}
		}
	}
	return nil
}

// niceness of a thread: the kernel answers with 20 less it.
func niceness(thread int) (int, error) {
	is, err := syscall.Getpriority(syscall.PRIO_PROCESS, thread)
	return 20 - is, err
}
