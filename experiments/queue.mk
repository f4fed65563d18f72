# The queue of experiments: experiments/queue.yaml has its entries and says what is kept of each, experiments/queued/README.md
# has their state. Let it run in a clone of its own, where nobody edits; what it finished is committed from there.
.PHONY: queue queue-state

queue: $(INSTALLED) ## Run the next missing seed, and all after it, on one core: make -C experiments queue DATA=FOLDER
	$(call needs,strae_eval)
	@OMP_NUM_THREADS=1 nice -n 19 $(BIN)/python -m experiments.queue run --data '$(DATA)' $(if $(LIMIT),--limit $(LIMIT))

queue-state: $(INSTALLED) ## What of the queue is done, what is next, and how many hours are left
	@$(BIN)/python -m experiments.queue state
