// runc for hosts whose bounding set lacks CAP_SYS_RESOURCE: drops it from every
// OCI spec (create/run: bundle config.json, exec: --process file), never ask for a
// negative oomScoreAdj, and drop rlimits (raising them needs the same capability).
package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

func edit(path string) {
	b, err := os.ReadFile(path)
	if err != nil {
		return
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var m map[string]any
	if d.Decode(&m) != nil {
		return
	}
	p, ok := m["process"].(map[string]any)
	if !ok {
		p = m // exec --process file
	}
	if caps, ok := p["capabilities"].(map[string]any); ok {
		for k, v := range caps {
			l, _ := v.([]any)
			out := []any{}
			for _, c := range l {
				if c != "CAP_SYS_RESOURCE" {
					out = append(out, c)
				}
			}
			caps[k] = out
		}
	}
	if n, ok := p["oomScoreAdj"].(json.Number); ok && strings.HasPrefix(n.String(), "-") {
		p["oomScoreAdj"] = 0
	}
	delete(p, "rlimits")
	if b, err = json.Marshal(m); err == nil {
		os.WriteFile(path, b, 0o600)
	}
}

func main() {
	real := "/usr/sbin/runc"
	if r := os.Getenv("REAL_RUNC"); r != "" {
		real = r
	}
	val := func(names ...string) string {
		for i, a := range os.Args {
			for _, n := range names {
				if a == n && i+1 < len(os.Args) {
					return os.Args[i+1]
				}
				if strings.HasPrefix(a, n+"=") {
					return a[len(n)+1:]
				}
			}
		}
		return ""
	}
	for _, a := range os.Args[1:] {
		if a == "create" || a == "run" {
			b := val("--bundle", "-b")
			if b == "" {
				b = "."
			}
			edit(filepath.Join(b, "config.json"))
			break
		}
		if a == "exec" {
			if f := val("--process", "-p"); f != "" {
				edit(f)
			}
			break
		}
	}
	os.Args[0] = real
	panic(syscall.Exec(real, os.Args, os.Environ()))
}
