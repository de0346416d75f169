package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

const (
	envPrefix       = "LAXITY_"
	defaultSettings = "laxity.yaml"
)

// applySettings gives every flag that was not typed its value from the environment (LAXITY_OTLP_GRPC for --otlp-grpc) or
// else from the settings file (key otlp-grpc). What was typed wins.
func applySettings(cmd *cobra.Command) error {
	file, err := readSettings(cmd)
	if err != nil {
		return err
	}
	var errs []error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || f.Name == "config" || f.Name == "help" {
			return
		}
		name := envPrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if value, ok := os.LookupEnv(name); ok {
			if err := cmd.Flags().Set(f.Name, value); err != nil {
				errs = append(errs, fmt.Errorf("environment variable %s: %w", name, err))
			}
			return
		}
		if value, ok := file[f.Name]; ok {
			values, ok := value.([]any)
			if !ok {
				values = []any{value}
			}
			for _, v := range values { // a list is a flag given several times
				if err := cmd.Flags().Set(f.Name, fmt.Sprint(v)); err != nil {
					errs = append(errs, fmt.Errorf("settings file, key %s: %w", f.Name, err))
				}
			}
		}
	})
	if err := errors.Join(errs...); err != nil {
		return &usageError{err}
	}
	return nil
}

// readSettings reads the file named by --config or LAXITY_CONFIG; the default file may be missing, a named one may not.
func readSettings(cmd *cobra.Command) (map[string]any, error) {
	path, named := defaultSettings, false
	if value, ok := os.LookupEnv(envPrefix + "CONFIG"); ok {
		path, named = value, true
	}
	if f := cmd.Flags().Lookup("config"); f != nil && f.Changed {
		path, named = f.Value.String(), true
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil, nil
	}
	if err != nil {
		return nil, &usageError{fmt.Errorf("settings file: %w", err)}
	}
	settings := map[string]any{}
	if err := yaml.Unmarshal(data, &settings); err != nil {
		return nil, &usageError{fmt.Errorf("settings file %s: %w", path, err)}
	}
	known := map[string]bool{}
	flagNames(cmd.Root(), known)
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if !known[key] {
			return nil, &usageError{fmt.Errorf("settings file %s: no command has a flag %q; keys are the flags without --, see 'laxity up --help'", path, key)}
		}
	}
	return settings, nil
}

// flagNames collects the flags of a command and of those below it: one file may serve them all.
func flagNames(cmd *cobra.Command, names map[string]bool) {
	add := func(f *pflag.Flag) { names[f.Name] = true }
	cmd.LocalFlags().VisitAll(add)
	for _, child := range cmd.Commands() {
		flagNames(child, names)
	}
}
