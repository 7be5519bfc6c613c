package main

// Checkpoints of a run: written whole or not at all, and read back for a resume.

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"hexapla-go/hexapla"
)

const (
	expAvgPrefix   = "exp_avg."
	expAvgSqPrefix = "exp_avg_sq."
	updateKey      = "update"
	digestKey      = "spec_digest"
)

func checkpointPath(output string, k int64) string {
	return filepath.Join(output, fmt.Sprintf("checkpoint-%06d", k))
}

// prepareOutput makes the output folder, and refuses a run that would meet an existing checkpoint.
func prepareOutput(output string, s spec, start, stopAfter int64) error {
	if err := os.MkdirAll(output, 0o777); err != nil {
		return fail(badFile, output, "%v", err)
	}
	last := s.updates
	if stopAfter > 0 {
		last = stopAfter
	}
	for k := start + 1; k <= last; k++ {
		if !s.saves(k, stopAfter) {
			continue
		}
		path := checkpointPath(output, k)
		if _, err := os.Lstat(path); err == nil {
			return fail(badFile, path, "the checkpoint exists already; choose another output folder")
		} else if !os.IsNotExist(err) {
			return fail(badFile, path, "%v", err)
		}
	}
	return nil
}

// saved is what a `checkpoint` event says.
type saved struct {
	path, adapterDigest, optimizerDigest string
}

// save writes the checkpoint of update k. After a failure nothing of it is left.
func (r *run) save(output string, k int64) (saved, error) {
	final := checkpointPath(output, k)
	partial := final + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return saved{}, fail(badFile, partial, "%v", err)
	}
	if err := r.write(partial, k); err != nil {
		os.RemoveAll(partial)
		return saved{}, at(final, err)
	}
	if err := hexapla.CommitCheckpoint(partial, final); err != nil {
		os.RemoveAll(partial)
		return saved{}, at(final, err)
	}
	result := saved{path: final}
	var err error
	if result.adapterDigest, err = hexapla.Digest(r.adapter.tensors...); err != nil {
		return saved{}, at(final, err)
	}
	result.optimizerDigest, err = hexapla.Digest(r.optimizer.moments()...)
	return result, at(final, err)
}

func (r *run) write(folder string, k int64) error {
	if err := os.Mkdir(folder, 0o777); err != nil {
		return fail(badFile, folder, "%v", err)
	}
	var parameters, moments []hexapla.NamedTensor
	for i, name := range r.adapter.names {
		parameters = append(parameters, hexapla.NamedTensor{Name: name, Tensor: r.adapter.tensors[i]})
		moments = append(moments,
			hexapla.NamedTensor{Name: expAvgPrefix + name, Tensor: r.optimizer.expAvgs[i]},
			hexapla.NamedTensor{Name: expAvgSqPrefix + name, Tensor: r.optimizer.expAvgSqs[i]})
	}
	if err := hexapla.WriteCheckpoint(filepath.Join(folder, adapterFile), parameters, nil); err != nil {
		return err
	}
	path := filepath.Join(folder, adapterConfigFile)
	if err := os.WriteFile(path, r.adapterConfig, 0o666); err != nil {
		return fail(badFile, path, "%v", err)
	}
	return hexapla.WriteCheckpoint(filepath.Join(folder, optimizerFile), moments, map[string]string{
		updateKey: strconv.FormatInt(k, 10), digestKey: r.request.specDigest,
	})
}

// savedUpdate is the update of a checkpoint, whose spec_digest must be the request's.
func savedUpdate(folder, specDigest string) (int64, error) {
	path := filepath.Join(folder, optimizerFile)
	checkpoint, err := hexapla.OpenCheckpoint(path)
	if err != nil {
		return 0, at(path, err)
	}
	defer checkpoint.Close()
	digest, err := checkpoint.Metadata(digestKey)
	if err != nil {
		return 0, at(path+": "+digestKey, err)
	}
	if digest != specDigest {
		return 0, fail(badCheckpoint, path+": "+digestKey, "the checkpoint's spec_digest is %q, the request's %q", digest, specDigest)
	}
	text, err := checkpoint.Metadata(updateKey)
	if err != nil {
		return 0, at(path+": "+updateKey, err)
	}
	update, err := strconv.ParseUint(text, 10, 53)
	if err != nil || update == 0 || strconv.FormatUint(update, 10) != text {
		return 0, fail(badCheckpoint, path+": "+updateKey, "the metadata's update is %q, must be a decimal number above 0", text)
	}
	return int64(update), nil
}

// loadOptimizer reads moments from a checkpoint, and makes gradients of zeros. The optimizer must be closed.
func loadOptimizer(folder string, a *adapter, context *hexapla.Context) (*optimizer, error) {
	path := filepath.Join(folder, optimizerFile)
	checkpoint, err := hexapla.OpenCheckpoint(path)
	if err != nil {
		return nil, at(path, err)
	}
	defer checkpoint.Close()
	o := &optimizer{}
	if err := o.read(path, checkpoint, a, context); err != nil {
		o.close()
		return nil, at(path, err)
	}
	return o, nil
}

func (o *optimizer) read(path string, checkpoint *hexapla.Checkpoint, a *adapter, context *hexapla.Context) error {
	entries, err := checkpoint.Entries()
	if err != nil {
		return err
	}
	wanted := map[string][]int64{}
	var first, second []string
	for _, name := range a.names {
		wanted[expAvgPrefix+name], wanted[expAvgSqPrefix+name] = a.shapes[name], a.shapes[name]
		first, second = append(first, expAvgPrefix+name), append(second, expAvgSqPrefix+name)
	}
	if err := expect(path, entries, wanted); err != nil {
		return err
	}
	if err := o.makeGradients(a, context); err != nil {
		return err
	}
	if o.expAvgs, err = readAll(checkpoint, first, context, &o.scope); err != nil {
		return err
	}
	o.expAvgSqs, err = readAll(checkpoint, second, context, &o.scope)
	return err
}
