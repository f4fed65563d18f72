# Data for the other recipes, from public addresses at pinned revisions: experiments/data/sets.yaml has them, with licenses and
# sums. Without SET, the sets that README's tables on code need. MIRROR has copies of GitHub's repositories as OWNER/NAME, for
# machines that cannot reach it. The same command goes on where it stopped.
.PHONY: data

SET :=
MIRROR :=
# another file that declares sets
DECLARED :=
data: $(RUNNABLE) ## Public data into data/: make data [SET='repositories cosqa'] [MIRROR=FOLDER]
	$(BIN)/python -m experiments.data $(SET) --to '$(DATA)' $(if $(MIRROR),--mirror '$(MIRROR)') $(if $(DECLARED),--sets '$(DECLARED)')

# a recipe's first line: what it reads is there
needs = @test -e '$(DATA)/$(1)' \
  || { echo 'missing $(DATA)/$(1); run make data SET=$(firstword $(subst /, ,$(1))), or make $(if $(EXPERIMENTS),-C experiments )$@ DATA=FOLDER' >&2; exit 2; }
