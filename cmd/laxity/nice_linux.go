package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// yield lowers the priority of this process, where it is not as low already. Threads have priorities of their own, and new ones that of the thread that starts them: twice over
// all of them reaches those that were started meanwhile.
func yield(nice int) error {
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
			const greatest = 20 // the kernel answers with that less the niceness
			is, err := syscall.Getpriority(syscall.PRIO_PROCESS, id)
			if err == nil && greatest-is < nice {
				err = syscall.Setpriority(syscall.PRIO_PROCESS, id, nice)
			}
			if err != nil && !errors.Is(err, syscall.ESRCH) { // that thread has ended
				return fmt.Errorf("priority: %w", err)
			}
		}
	}
	return nil
}
