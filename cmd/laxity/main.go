// Command laxity is the product: engine, migrations, collector, API and page, and the command-line client.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := followParent(ctx)
	defer cancel()
	os.Exit(run(ctx, os.Args[1:]))
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string) int {
	root := newRootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var usage *usageError
	var problem *apiProblem
	if errors.As(err, &usage) || errors.As(err, &problem) && problem.Status == http.StatusBadRequest {
		fmt.Fprintf(os.Stderr, "laxity: %v\n", err)
		return exitUsage
	}
	if !errors.Is(err, errReported) {
		fmt.Fprintf(os.Stderr, "laxity: %v\n", err)
	}
	return exitFailed
}

// errReported is returned by a command that has already told the user what failed.
var errReported = errors.New("already reported")

// usageError is a command line that cannot be understood.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "laxity",
		Short:         "Time budgets of requests: enforced, recorded, explained",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("unknown command %q; run 'laxity --help' for the list", args[0])}
			}
			return nil
		},
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return applySettings(cmd) },
	}
	root.PersistentFlags().String("config", "", "settings file (default laxity.yaml in this folder, if there is one)")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	root.AddCommand(
		newCollectorCommand(),
		newAPICommand(),
		newAlertCommand(),
		newContractCommand(),
		newBenchCommand(),
		newDemoCommand(),
		newDoctorCommand(),
		newEngineCommand(),
		newExplainCommand(),
		newImportCommand(),
		newMarkerCommand(),
		newPolicyCommand(),
		newReportCommand(),
		newTraceCommand(),
		newMigrateCommand(),
		newUpCommand(),
		newWorkerCommand(),
	)
	fitTerminal(root)
	return root
}

// fitTerminal lets the help of a command and of those below it fit 80 columns. Lines that are set in stay as they are.
func fitTerminal(cmd *cobra.Command) {
	cmd.SetUsageTemplate(strings.NewReplacer("FlagUsages ", "FlagUsagesWrapped 80 ", "for more information about", "for more about").Replace(cmd.UsageTemplate()))
	var lines, paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			lines = append(lines, fold(strings.Join(paragraph, " "), 80, ""))
			paragraph = nil
		}
	}
	for line := range strings.Lines(cmd.Long) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, " ") {
			flush()
			lines = append(lines, line)
			continue
		}
		paragraph = append(paragraph, line)
	}
	flush()
	cmd.Long = strings.Join(lines, "\n")
	for _, child := range cmd.Commands() {
		fitTerminal(child)
	}
}
